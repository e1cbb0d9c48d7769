"""A reader of documents for this room's tests."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.settings import Settings


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessReader]:
    with closing(ProcessReader(Settings(data_dir=tmp_path_factory.mktemp("data")))) as opened:
        yield opened
