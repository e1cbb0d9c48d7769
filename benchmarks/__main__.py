"""``python -m benchmarks COMMAND``: one command per question worth measuring; ``--json`` prints for machines."""

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import benchmarks

WIDTH, MIN_WIDTH = 36, 9
"""Of the names at the left, and of a column."""


def commands(package: ModuleType) -> dict[str, ModuleType]:
    """Return the modules of a package that have ``add_arguments`` and ``run``, by their names with hyphens."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        if hasattr(loaded, "add_arguments") and hasattr(loaded, "run"):
            found[module.name.replace("_", "-")] = loaded
    return found


def main(
    arguments: list[str] | None = None, package: ModuleType = benchmarks, description: str | None = __doc__
) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {package.__name__}", description=description)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = commands(package)
    for name, module in sorted(modules.items()):
        summary = (module.__doc__ or "").strip().split("\n")[0]
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        subparser.add_argument("--json", action="store_true", help="print the result as JSON")
        module.add_arguments(subparser)
    options = parser.parse_args(arguments)
    module = modules[options.command]
    result = module.run(options)
    if options.json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        print(module.render(result) if hasattr(module, "render") else "\n".join(rendered(result)))
    return 0


def rendered(result: Mapping[str, Any], margin: str = "") -> Iterator[str]:
    """Yield a line for each figure; what has the same figures under several names is a table."""
    for name, value in result.items():
        rows = value if isinstance(value, Mapping) else dict(enumerate(value, 1)) if isinstance(value, list) else {}
        alike = [row for row in rows.values() if isinstance(row, Mapping)]
        if alike and all(row.keys() == alike[0].keys() for row in alike) and len(alike) == len(rows):
            yield f"{margin}{name:{WIDTH}}" + "".join(
                f"{head:>{max(len(head) + 2, MIN_WIDTH)}}" for head in map(str, alike[0])
            )
            for own, row in rows.items():
                cells = (f"{_shown(cell):>{max(len(str(head)) + 2, MIN_WIDTH)}}" for head, cell in row.items())
                yield f"{margin}  {own!s:{WIDTH - 2}}" + "".join(cells)
        elif rows and isinstance(value, Mapping):
            yield f"{margin}{name}"
            yield from rendered(value, f"{margin}  ")
        else:
            yield f"{margin}{name:{WIDTH}}  {_shown(value)}"


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
