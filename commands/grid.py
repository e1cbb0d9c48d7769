"""The command `grid`: put the same questions to several documents, and write the values for a spreadsheet."""

from collections import Counter
from pathlib import Path

import click

from pincite.commands.documents import collection_named, collection_option
from pincite.commands.frame import ANSWERED, Command, complain, opened, plural, tell, working_settings

TEMPLATE_ENDING, BINDER = ".toml", ".pdf"


@click.command(cls=Command)
@click.argument("template", required=False, metavar="[TEMPLATE|FILE.toml]")
@collection_option("Ask the documents of this collection. Default: all documents.")
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Write the values.")
@click.option("--xlsx", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the values, and a sheet with quotations and pages.")  # fmt: skip
@click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write everything.")
@click.option("--pdf", type=click.Path(path_type=Path), metavar="FILE",
              help="Write a sealed binder with the cited pages, which `pincite verify` proves.")  # fmt: skip
def grid(
    template: str | None,
    collection_name: str | None,
    csv: Path | None,
    xlsx: Path | None,
    json: Path | None,
    pdf: Path | None,
) -> int:
    """Ask every document the questions of a template, such as "Lease".

    Without an argument, list the templates. The grid is kept, and can be opened on the page Grid. A template of your
    own is a file: docs/grid.md describes it.
    """
    from pincite.core.domain.keys import in_words
    from pincite.core.services.grids import template_of, templates

    if template is None:
        for one in templates():
            tell(f"{one.name}: {', '.join(column.name for column in one.columns)}")
        return ANSWERED
    if template.endswith(TEMPLATE_ENDING):
        chosen = template_of(Path(template).read_text(encoding="utf-8"))
    else:
        found = [one for one in templates() if one.name.casefold() == template.casefold()]
        if not found:
            return complain(f"There is no template called {template!r}. `pincite grid` lists them.")
        chosen = found[0]
    every = ((".csv", csv), (".xlsx", xlsx), (".json", json), (BINDER, pdf))
    targets = {ending: path for ending, path in every if path}
    if there := next((path for path in targets.values() if path.exists()), None):
        return complain(f"{there} already exists; it was not changed.")
    with opened(working_settings()) as pincite:
        collection = collection_named(pincite, collection_name) if collection_name else None
        here = [document.id for document in pincite.library.list()]
        ids = [one for one in here if not collection or one in collection.document_ids]
        pincite.ingest.wait(ids)
        name = f"{chosen.name} · {collection.name}" if collection else chosen.name
        made = pincite.grids.create(name, chosen.columns, ids, collection_id=collection.id if collection else "")
        filled = pincite.grids.wait(made.id)
        for ending, path in targets.items():
            of_grid = ending == BINDER
            path.write_bytes(pincite.exports.of_grid(filled) if of_grid else pincite.grids.export(made.id, ending))
    states = Counter(in_words(cell.state) for cell in filled.cells.values())
    told = ", ".join(f"{number} {words}" for words, number in states.most_common())
    tell(f"{made.name}: {plural(len(ids), 'document')}, {plural(states.total(), 'cell')}: {told}.")
    return ANSWERED


COMMANDS = (grid,)
