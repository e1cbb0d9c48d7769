"""What plug-ins must do: call these in the tests of a plug-in. Each raises AssertionError with what is wrong."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.settings import Settings
from pincite.core.export.manifest import Export, Manifest, PinCite, SourceFile, ToldAnswer, ToldPart
from pincite.core.judge.checks import Check, Finding
from pincite.core.judge.sources import Sources
from pincite.core.services.registry import ChatProvider

if TYPE_CHECKING:
    from pincite.core.documents.formats import Format

CLAIMS = ("", "The fee is 4,200 euros.", "Ann – “quoted”, 3 %\n\n", "x" * 5_000, "Die Größe ist 40 m².", "\u200b\ufeff")
"""Claims that a check must survive."""


def check_format(format_: "Format", samples: Mapping[str, bytes]) -> None:
    """Check a format with files by their names, of which the program that writes them is the usual one."""
    assert format_.KIND, "KIND says what its files are"
    for ending in format_.ENDINGS:
        assert ending.startswith(".") and ending == ending.lower(), f"{ending!r} is no ending in small letters"
    assert any(name.endswith(format_.ENDINGS) for name in samples), "no sample has one of its endings"
    with tempfile.TemporaryDirectory() as folder:
        path, first, again = (Path(folder) / name for name in ("copy.partial", "one.pdf", "two.pdf"))
        path.write_bytes(b"%PDF-1.4 another format")
        assert not format_.is_one(path, "other.pdf"), "a PDF is taken for one of its files"
        for name, content in samples.items():
            path.write_bytes(content)
            assert format_.is_one(path, name), f"{name} is not recognised"
            for name_, data in format_.save_as_pdf(path, first) or ():
                assert isinstance(name_, str) and isinstance(data, bytes), f"{name}: an attachment is a name and bytes"
            pdf = pypdfium2.PdfDocument(first)
            assert len(pdf) > 0, f"{name} has no page"
            pdf.close()
            format_.save_as_pdf(path, again)
            assert first.read_bytes() == again.read_bytes(), f"{name} gives other bytes the second time"


def check_export(export: Export) -> None:
    """Check a form of export with an answer that has a citation."""
    assert export.ENDING.startswith(".") and export.ENDING.lower() == export.ENDING and export.LABEL
    source = SourceFile("lease.pdf", "0" * 64, "Lease", "Ann Lee", "2024-03-01")
    citation = PinCite(1, source, 0, "1", 0, 22, "The rent is 900 euros.")
    answer = ToldAnswer(
        "What is the rent?", "2024-03-02T10:00:00+00:00", "quoting", "answered", "Claims: 1 supported.",
        (ToldPart("The rent is 900 euros.", "quotation", (1,)),), (citation,),
    )  # fmt: skip
    manifest = Manifest("2024-03-02T10:00:00+00:00", {"pincite": "1"}, "plain", (answer,))
    from pincite.core.export.manifest import Exhibit

    written = export.write(manifest, {citation.page: Exhibit("lease.pdf", None, None, None)})
    assert isinstance(written, bytes) and written, "an export is the bytes of a file"


def check_check(check: Check) -> None:
    """Check that a check of claims survives odd claims and evidence, and yields findings."""
    for texts in ([], ["The fee is 4,200 euros. It is due in March."], [""]):
        for claim in CLAIMS:
            found: Iterable[object] = check(claim, Sources.of(texts))
            for finding in found:
                assert isinstance(finding, Finding) and finding.detail, "a finding has a line for people"


def check_provider(provider: ChatProvider) -> None:
    """Check that a provider names itself and its models, or says that it is not available."""
    assert provider.label and provider.label[0].isupper(), "the label begins a sentence"
    settings = Settings(
        data_dir=Path("/nowhere"), ollama_host="http://127.0.0.1:9", openai_address="http://127.0.0.1:9"
    )
    assert isinstance(provider.preferred(settings), str)
    try:
        assert isinstance(provider.address(settings), str)
        models = provider.models(settings)
    except ModelUnavailableError as error:
        assert error.message, "what is not available is said"
        return
    assert all(isinstance(name, str) and parameters >= 0 for name, parameters in models.items())
