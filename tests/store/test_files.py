"""Documents' files in a bucket: every machine reads them, and a removal takes them from everywhere."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import obstore
import pytest
from obstore.store import S3Store, from_url

from pincite.core.domain.errors import DocumentError, SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.ingest import pipeline
from pincite.core.store import shelf
from pincite.core.store.files import Files
from pincite.core.store.open import open_database
from pincite.core.store.upkeep.migrate import copy_library
from pincite.core.store.upkeep.verify import verify
from tests.ingest.test_ingest import PARKING, RATES
from tests.ingest.workshop import Workshop, make_pdf, open_workshop
from tests.support.waiting import wait_until

BUCKET = "s3://deeds/of/pincite"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Store]:
    """A bucket of a server that speaks S3, as its address in the settings names it."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    httpx.post(f"http://{host}:{port}/moto-api/reset").raise_for_status()  # all servers of a process share buckets
    for name, value in {
        "ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "REGION": "us-east-1"
    }.items():  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", value)
    import boto3

    boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="deeds")
    store = from_url(BUCKET, client_options={"allow_http": True})
    assert isinstance(store, S3Store)
    yield store
    server.stop()


def names_in(bucket: S3Store) -> set[str]:
    return {one["path"] for some in obstore.list(bucket) for one in some}


@pytest.fixture
def machines(
    bucket: S3Store, postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Workshop, Workshop]]:
    """Two with a folder each, which share a database and a bucket."""
    monkeypatch.setattr(pipeline, "COPIES_SECONDS", 0.1)
    with ExitStack() as opened:
        one, two = (
            Settings(data_dir=tmp_path / name, database_url=postgresql, shared_files=BUCKET) for name in ("one", "two")
        )
        yield opened.enter_context(open_workshop(one)), opened.enter_context(open_workshop(two))


@pytest.mark.behaviour("Several processes", "The documents' files can be kept in an S3 bucket.")
def test_a_file_in_a_bucket_is_read_on_every_machine_and_removed_from_all(
    machines: tuple[Workshop, Workshop], bucket: S3Store, tmp_path: Path
) -> None:
    one, two = machines
    file = make_pdf(tmp_path / "a.pdf", [RATES, PARKING])
    document = one.ingest.add(file, "a.pdf").document
    one.finish()
    assert names_in(bucket) == {f"{document.id}.pdf"}
    copies = [shop.library.file_path(document.id) for shop in machines]
    assert copies[0] != copies[1] and all(copy.read_bytes() == file.read_bytes() for copy in copies)
    assert one.library.files_missing() == [] and list(verify(two.settings)) == []
    assert one.ingest.add(file, "b.pdf").known

    two.ingest.remove(document.id)
    wait_until(lambda: not any(copy.exists() for copy in copies))
    assert names_in(bucket) == set()


def test_a_file_that_a_bucket_lost_is_missed_and_can_be_added_again(
    machines: tuple[Workshop, Workshop], bucket: S3Store, tmp_path: Path
) -> None:
    one, _ = machines
    file = make_pdf(tmp_path / "a.pdf", [RATES])
    document = one.ingest.add(file, "a.pdf").document
    one.finish()
    obstore.delete(bucket, f"{document.id}.pdf")
    assert one.library.files_missing() == ["a.pdf"] and not one.library.file_is_sound(document.id)
    assert one.ingest.add(file, "a.pdf").known and names_in(bucket) == {f"{document.id}.pdf"}
    obstore.put(bucket, f"{document.id}.pdf", b"another")
    assert not one.library.file_is_sound(document.id)


def test_a_removal_that_the_bucket_refused_is_made_good_but_not_of_a_file_that_is_back(
    machines: tuple[Workshop, Workshop], bucket: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = machines
    monkeypatch.setattr(shelf, "AGAIN_SECONDS", 0.2)
    file, other = (make_pdf(tmp_path / name, [text]) for name, text in (("a.pdf", RATES), ("b.pdf", PARKING)))
    ids = [one.ingest.add(path, path.name).document.id for path in (file, other)]
    one.finish()
    with monkeypatch.context() as refusing:
        refusing.setattr(Files, "delete", refuse)
        for document_id in ids:
            one.ingest.remove(document_id)
        late = make_pdf(tmp_path / "c.pdf", [RATES, PARKING])
        assert len(names_in(bucket)) == 2 and one.library.list() == []
    assert one.ingest.add(file, "a.pdf").document.id == ids[0] and one.ingest.add(late, "c.pdf")
    wait_until(lambda: f"{ids[1]}.pdf" not in names_in(bucket))
    one.finish()
    assert f"{ids[0]}.pdf" in names_in(bucket) and two.library.files_missing() == []


def refuse(files: Files, name: str) -> None:
    raise DocumentError("The bucket is away.")


def test_a_library_moves_into_a_bucket_and_back(bucket: S3Store, postgresql: str, tmp_path: Path) -> None:
    here = Settings(data_dir=tmp_path / "here")
    with open_workshop(here) as shop:
        document = shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES]), "a.pdf").document
        shop.finish()
    there = here.but(database_url=postgresql, shared_files=BUCKET)
    assert list(copy_library(here, there)) and names_in(bucket) == {f"{document.id}.pdf"}
    back = Settings(data_dir=tmp_path / "back")
    assert list(copy_library(there.but(data_dir=tmp_path / "cache"), back)) and list(verify(back)) == []


def test_a_bucket_that_cannot_be_reached_is_named(
    bucket: S3Store, postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(SettingsError, match="library is in this data directory"),
        open_workshop(Settings(data_dir=tmp_path / "one", shared_files=BUCKET)),
    ):
        pass
    lost = Settings(data_dir=tmp_path / "two", database_url=postgresql, shared_files="s3://nowhere/at/all")
    with open_workshop(lost) as shop:
        with pytest.raises(DocumentError, match=r"The files in s3://nowhere/at/all cannot be reached"):
            shop.ingest.add(make_pdf(tmp_path / "a.pdf", [RATES]), "a.pdf")
        assert shop.library.list() == [] and not list(lost.files_dir.iterdir())
    with closing(open_database(lost)):
        pass
