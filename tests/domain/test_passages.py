"""What is embedded of a passage."""

from pincite.core.domain.documents import Passage, embedded_text, embedding_key
from pincite.core.models.minilm import MiniLmEmbedder

TEXT = "The deposit is returned within thirty days of the end of the lease, less the cost of repairs."


def passage(*context: str, text: str = TEXT) -> Passage:
    return Passage("d:0:0", "d", 0, "1", text, 0, len(text), context[1:], "\n".join(context))


def test_the_context_comes_before_the_passage() -> None:
    assert embedded_text(passage("Lease", "Payments", "Deposit")) == f"Lease\nPayments\nDeposit\n{TEXT}"
    assert embedded_text(passage()) == TEXT


def test_a_long_heading_path_does_not_push_out_the_passage() -> None:
    headings = [f"Provisions that apply to the parties and to their successors in title, part {n}" for n in range(8)]
    long = passage("Lease", *headings)
    assert (
        embedded_text(long).startswith("Lease\n")
        and embedded_text(long).endswith(f"part 7\n{TEXT}")
        and "part 3" not in embedded_text(long)
    )
    other = "Dogs and cats are kept only with the written consent of the landlord, who may withdraw it."
    one, two, same = MiniLmEmbedder(workers=1).embed(
        [embedded_text(long), embedded_text(passage("Lease", *headings, text=other)), embedded_text(passage(text=TEXT))]
    )
    assert one @ two < 0.999, "the passages differ, and so do their vectors"
    assert one @ same > two @ same


def test_table_heads_leave_room_for_the_headings_above_them() -> None:
    text = embedded_text(passage("Annual report", "Notes", "Segment table", "Revenue 2021 2020 " * 17))
    assert text.startswith("Annual report\nNotes\nSegment table\nRevenue 2021") and len(text) < 320 + len(TEXT)


def test_the_key_covers_the_whole_context() -> None:
    one, other = (passage("Lease", *["A heading of some length, which is repeated " * 3] * 4, last) for last in "AB")
    assert embedded_text(one) != embedded_text(other) and embedding_key(one) != embedding_key(other)
    first, second = (passage("Lease", first, *["A heading of some length " * 5] * 4) for first in ("A", "B"))
    assert embedded_text(first) == embedded_text(second) and embedding_key(first) != embedding_key(second)
