"""An export: one line for each citation."""

import csv
import io

from pincite.core.export.manifest import Exhibits, Manifest

ENDING, LABEL = ".csv", "Export the citations as a table (CSV)"


def write(manifest: Manifest, exhibits: Exhibits) -> bytes:
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["question", "document", "page", "quotation"])
    for answer in manifest.answers:
        for one in answer.citations:
            table.writerow([answer.question, one.source.name, one.page_label, one.quotation])
    return out.getvalue().encode("utf-8-sig")
