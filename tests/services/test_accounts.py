"""Who gets in, what admins do, and what each user chooses."""

import csv
import io
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.accounts import Right, Role
from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.errors import AccessError, SettingsError, UnknownDocumentError
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.domain.turns import ReviewDecision, TurnStatus
from pincite.core.services import accounts as service
from pincite.core.services.accounts import Accounts
from pincite.core.services.bootstrap import Pincite, UserPincite, open_pincite
from pincite.core.services.grids import new_column
from pincite.core.store.access import Access
from pincite.core.store.schema import metadata
from tests.ingest.workshop import make_pdf
from tests.support.accounts import ANA, BOB, CY
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("each_engine")
SAMPLE = PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf"
QUESTION = "What is the penalty for late payment?"
SECONDS = 120


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Pincite]:
    with closing(open_pincite(Settings(data_dir=tmp_path, engine="quoting", admins=ANA))) as app:
        yield app


@pytest.fixture
def accounts(library: Pincite) -> Accounts:
    assert library.accounts
    return library.accounts


def claims(email: str, subject: str = "", **more: Any) -> dict[str, Any]:
    return {
        "iss": "https://id.example.org",
        "sub": subject or email,
        "email": email,
        "email_verified": True,
        "iat": time.time(),
        **more,
    }


def view(library: Pincite, email: str, role: Role = Role.READER) -> UserPincite:
    assert library.accounts
    admin = library.accounts.of(claims(ANA))
    if email != ANA:
        library.accounts.add(admin, email, role)
    return library.of(library.accounts.of(claims(email)))


def test_only_who_was_added_gets_in(accounts: Accounts) -> None:
    admin = accounts.of(claims(ANA))
    assert admin.is_admin
    with pytest.raises(AccessError, match="Ask an administrator to add"):
        accounts.of(claims(BOB))
    accounts.add(admin, f" {BOB.upper()} ", Role.READER)
    assert accounts.of(claims(BOB, name="Bob B.")).shown == "Bob B."
    for wrong, why in ((BOB, "already"), ("bob", "no e-mail")):
        with pytest.raises(AccessError, match=why):
            accounts.add(admin, wrong, Role.READER)


def test_a_user_is_known_by_the_providers_id(accounts: Accounts) -> None:
    admin = accounts.of(claims(ANA))
    accounts.add(admin, BOB, Role.READER)
    for said in (False, "false", None):
        with pytest.raises(AccessError):
            accounts.of(claims(BOB, email_verified=said))
    bob = accounts.of(claims(BOB, "b1"))
    assert accounts.of(claims("bob@elsewhere.example", "b1")).id == bob.id, "the address may change"
    with pytest.raises(AccessError, match="another account"):
        accounts.of(claims(BOB, "b2"))  # who was given the address later
    with pytest.raises(AccessError):
        accounts.of({**claims(BOB, "b1"), "iss": "https://other.example.org"})
    with pytest.raises(AccessError):
        accounts.of({})


def test_who_is_disabled_is_refused_and_an_admin_stays(accounts: Accounts) -> None:
    admin = accounts.of(claims(ANA))
    bob = accounts.add(admin, BOB, Role.READER)
    with pytest.raises(AccessError):
        accounts.add(accounts.of(claims(BOB)), CY, Role.ADMIN)
    accounts.set_disabled(admin, bob.id, True)
    with pytest.raises(AccessError, match="disabled"):
        accounts.of(claims(BOB))
    assert accounts.with_id(bob.id) is None
    with pytest.raises(AccessError, match="last admin"):
        accounts.set_role(admin, admin.id, Role.READER)
    with pytest.raises(AccessError, match="last admin"):
        accounts.set_disabled(admin, admin.id, True)
    assert accounts.of(claims(ANA)).is_admin


def test_a_changed_role_holds_within_seconds(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "HOLD_SECONDS", 0.0)  # as in another process, later
    admin = accounts.of(claims(ANA))
    bob = accounts.add(admin, BOB, Role.READER)
    assert not accounts.of(claims(BOB)).may_review
    accounts._users.set_role(bob.id, Role.REVIEWER)
    assert accounts.of(claims(BOB)).may_review


def test_a_library_from_before_belongs_to_the_first_admin(tmp_path: Path) -> None:
    with closing(open_pincite(Settings(data_dir=tmp_path, engine="quoting"))) as app:
        document = app.ingest.add(SAMPLE, SAMPLE.name).document
        collection = app.collections.create("Contracts")
        app.collections.add(collection.id, [document.id])
        session = app.sessions.create("Before")
        app.ingest.wait(timeout_seconds=SECONDS)
    with closing(open_pincite(Settings(data_dir=tmp_path, engine="quoting", admins=f"{ANA} {CY}"))) as app:
        ana = view(app, ANA)
        assert [one.id for one in ana.library.list()] == [document.id]
        assert ana.ingest.add(SAMPLE, SAMPLE.name).known, "the same file is no other document"
        assert ana.collections.list() and ana.sessions.find(session.id)
        assert app.accounts
        second = app.of(app.accounts.of(claims(CY)))
        assert second.user.is_admin and not second.library.list() and not second.sessions.list()


def test_each_user_has_an_own_document_of_the_same_file(library: Pincite) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    own = ana.ingest.add(SAMPLE, "ours.pdf").document
    added = bob.ingest.add(SAMPLE, "mine.pdf")
    assert not added.known and added.document.id != own.id and added.document.sha256 == own.sha256
    assert bob.ingest.add(SAMPLE, "again.pdf").known
    assert ana.ingest.wait([own.id], timeout_seconds=SECONDS) and bob.ingest.wait(timeout_seconds=SECONDS)
    assert [one.status for one in bob.library.list()] == [DocumentStatus.READY]
    assert library.library.file_is_sound(own.id) and library.library.file_is_sound(added.document.id)
    ana.ingest.remove(own.id)
    assert bob.documents.page_image(added.document.id, 0)
    for look in (bob.documents.page_image, bob.library.page):
        with pytest.raises(UnknownDocumentError):
            look(own.id, 0)


@pytest.mark.behaviour("Accounts", "Members of a collection ask in it; those with the right decide about its answers.")
def test_a_collection_is_shared_and_its_answers_reviewed(library: Pincite) -> None:
    ana, bob, cy = view(library, ANA), view(library, BOB), view(library, CY, Role.REVIEWER)
    document = ana.ingest.add(SAMPLE, SAMPLE.name).document
    ana.ingest.wait(timeout_seconds=SECONDS)
    collection = ana.collections.create("Contracts")
    ana.collections.add(collection.id, [document.id])
    ana.sharing.set(collection.id, BOB, Right.READ)
    ana.sharing.set(collection.id, CY, Right.REVIEW)
    session = bob.sessions.create(collection_id=collection.id)
    turn = bob.runner.wait(bob.runner.ask(session.id, QUESTION), SECONDS).turn
    assert turn.status is TurnStatus.ANSWERED and turn.citations[0].document_id == document.id
    assert not cy.turns.count_flagged() and not ana.sessions.list()
    bob.reviews.send(turn.id)
    with pytest.raises(AccessError):
        bob.reviews.decide(turn.id, ReviewDecision.APPROVED)
    assert cy.turns.get(turn.id).trace and cy.turns.count_flagged() == 1
    cy.reviews.decide(turn.id, ReviewDecision.APPROVED, reviewer=cy.user.shown)
    again = ana.sessions.create(collection_id=collection.id)
    own = ana.runner.wait(ana.runner.ask(again.id, QUESTION), SECONDS).turn
    assert own.reused_from == turn.id, "its owner may see it in the queue, too"
    ana.sharing.set(collection.id, BOB, None)
    assert not bob.library.list() and bob.turns.get(turn.id).answer
    assert ana.deletion.document_with_answers(document.id).answers == 2
    assert not bob.sessions.list(), "also answers of others that quote it are gone"


def test_only_its_owner_replaces_a_document(library: Pincite, tmp_path: Path) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    document = ana.ingest.add(SAMPLE, SAMPLE.name).document
    collection = ana.collections.create("Contracts")
    ana.collections.add(collection.id, [document.id])
    ana.sharing.set(collection.id, BOB, Right.WRITE)
    added = bob.ingest.add(make_pdf(tmp_path / "new.pdf", ["Another contract."]), SAMPLE.name)
    assert added.replaces is None, "it is not offered"
    with pytest.raises(AccessError):
        bob.ingest.replace(document.id, added.document.id)
    bob.ingest.wait(timeout_seconds=SECONDS)
    assert library.library.get(document.id)
    newer = ana.ingest.add(make_pdf(tmp_path / "newer.pdf", ["A newer contract."]), SAMPLE.name)
    assert newer.replaces and newer.replaces.id == document.id
    ana.ingest.replace(document.id, newer.document.id)
    wait_until(lambda: [one.id for one in ana.library.list()] != [], SECONDS)
    wait_until(lambda: document.id not in [one.id for one in library.library.list()], SECONDS)
    assert newer.document.id in bob.collections.get(collection.id).document_ids


def test_a_grid_is_filled_from_what_its_owner_sees(library: Pincite, tmp_path: Path) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    salaries = make_pdf(tmp_path / "salaries.pdf", ["The salary of Ms Brown is 98000 euros a year."])
    ana.ingest.add(salaries, salaries.name)
    ducks = make_pdf(tmp_path / "ducks.pdf", ["The colour of the duck is yellow."])
    own = bob.ingest.add(ducks, ducks.name).document
    assert library.ingest.wait(timeout_seconds=SECONDS)
    asked = (new_column("Salary", "What is the salary of Ms Brown in @salaries.pdf?"),
             new_column("Colour", "What is the colour of the duck?"))  # fmt: skip
    grid = bob.grids.create("Ducks", asked, [own.id])
    wait_until(lambda: not bob.grids.is_running(grid.id), SECONDS)
    salary, colour = (bob.grids.filled(grid.id).cell(own.id, one.id) for one in asked)
    assert "yellow" in colour.value and "98000" not in repr(salary)
    assert {one.document_id for one in (*salary.citations, *colour.citations)} <= {own.id}


def test_a_grid_of_who_is_disabled_ends(library: Pincite, accounts: Accounts) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    document = bob.ingest.add(SAMPLE, SAMPLE.name).document
    store = bob.grids._store
    grid = store.create("Rents", (new_column("Penalty", QUESTION),), [document.id])
    store.set_running(grid.id, True)
    accounts.set_disabled(ana.user, bob.user.id, True)
    library.grids.start()
    wait_until(lambda: not library.grids.is_running(grid.id), SECONDS)


def test_what_one_user_deletes_leaves_the_vectors_of_others(library: Pincite) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    document, own = (one.ingest.add(SAMPLE, SAMPLE.name).document for one in (ana, bob))
    assert library.ingest.wait(timeout_seconds=SECONDS)
    bob.ingest.remove(own.id)
    assert not library.indexes.pending(limit=9) and ana.library.get(document.id).status is DocumentStatus.READY


def test_a_collection_keeps_what_members_put_into_it(library: Pincite, tmp_path: Path) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    collection = ana.collections.create("Contracts")
    ana.sharing.set(collection.id, BOB, Right.WRITE)
    documents = []
    for user, name in ((ana, "one.pdf"), (bob, "two.pdf")):
        documents.append(user.ingest.add(make_pdf(tmp_path / name, [name]), name).document.id)
        user.collections.add(collection.id, documents[-1:])
    for user in (bob, ana):
        user.collections.set_documents(collection.id, documents)  # as the form saves it
        assert set(ana.collections.get(collection.id).document_ids) == set(documents)
    aside = bob.collections.create("Aside")
    with pytest.raises(AccessError):
        bob.collections.add(aside.id, documents[:1])  # who loses the collection would keep the document
    assert bob.collections.find("contracts") and ana.collections.create("Aside")
    shared = ana.collections.create("Inbox")
    ana.sharing.set(shared.id, BOB, Right.WRITE)
    mine = bob.collections.create("Inbox")  # a name is not taken by what others share
    assert bob.collections.find("inbox") == mine, "one's own comes first"
    found = bob.collections.find(shared.id)
    assert found and found.id == shared.id


def test_who_is_disabled_or_no_admin_any_more_does_nothing_with_an_open_page(
    library: Pincite, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "HOLD_SECONDS", 0.0)
    ana, bob = view(library, ANA), view(library, BOB, Role.ADMIN)
    before = bob.user
    accounts.set_role(ana.user, before.id, Role.READER)
    with pytest.raises(AccessError):
        accounts.set_role(before, before.id, Role.ADMIN)
    accounts.set_disabled(ana.user, before.id, True)
    for do in (bob.library.list, bob.sessions.create, lambda: accounts.audit_csv(before)):
        with pytest.raises(AccessError):
            do()


def test_each_user_chooses_an_engine_and_admins_the_rest(library: Pincite) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    bob.settings.change(kept=4, citation_style="apa")
    assert (bob.settings.current.kept, ana.settings.current.kept) == (4, 10)
    for values in ({"max_pages": 5}, {"openai_address": "http://127.0.0.1:9/v1", "kept": 7}):
        with pytest.raises(AccessError, match="Only an admin"):
            bob.settings.change(**values)
    assert bob.settings.current.kept == 4
    ana.settings.change(max_pages=5)
    assert bob.settings.current.max_pages == 5 and bob.settings.current.kept == 4
    with pytest.raises(AccessError):
        bob.settings.roll_back_embedding()
    for path in ("/etc/style.csl", "../../etc/style"):
        with pytest.raises(SettingsError):
            bob.settings.change(citation_style=path)  # a file of the server


def test_the_audit_log_says_who_did_what_and_names_nothing(library: Pincite, accounts: Accounts) -> None:
    ana, bob = view(library, ANA), view(library, BOB)
    document = bob.ingest.add(SAMPLE, "a secret name.pdf").document
    session = bob.sessions.create("a secret title")
    bob.sessions.delete(session.id)
    bob.ingest.remove(document.id)
    bob.note("exported", "session", session.id)
    lines = [(one.who, one.action, one.kind, one.subject) for one in accounts.audit(ana.user)]
    assert lines[:4] == [
        (BOB, "exported", "session", session.id),
        (BOB, "deleted", "document", document.id),
        (BOB, "deleted", "session", session.id),
        (BOB, "added", "document", document.id),
    ]
    assert (BOB, "signed in", "user", bob.user.id) in lines
    written = accounts.audit_csv(ana.user).decode()
    assert "secret" not in written and len(list(csv.reader(io.StringIO(written)))) == len(lines) + 1
    with pytest.raises(AccessError):
        accounts.audit(bob.user)


def test_every_table_has_a_condition() -> None:
    access = Access("somebody")
    for policies in (access.reading, access.changing, access.deleting, access.adding):
        assert set(policies) == set(metadata.tables)
