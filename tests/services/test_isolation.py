"""Nobody ever sees what is not theirs: a state machine of users who add, share, ask, review, export and pry.

Everything that a user makes has a secret word in it. After each step some user looks at all that there is to see, also
by the ids of others; the words that appear have to be exactly those that the model says this user may see.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from pincite.core.documents.passages import split_pages
from pincite.core.domain.accounts import Right, Role, User
from pincite.core.domain.answers import Citation
from pincite.core.domain.errors import AccessError, PinciteError
from pincite.core.domain.ports import PdfInfo
from pincite.core.domain.search import Mode
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import ReviewDecision, Turn, TurnFilter, TurnStatus, now
from pincite.core.services.bootstrap import Pincite, UserPincite, open_pincite
from pincite.core.services.grids import new_column
from pincite.web.operations import Operations
from tests.search.shelf import page

STEPS, EXAMPLES = 100, 21
ROLES = (Role.ADMIN, Role.READER, Role.REVIEWER, Role.READER)
SECRET = re.compile(r"secret\d+x")
RIGHTS = [*Right, None]
WHO = st.sampled_from(range(len(ROLES)))


@dataclass
class Kept:
    """What the model knows of one thing: its secret words, whose it is, and what it belongs to."""

    secret: str
    owner: int
    within: str = ""
    documents: dict[str, None] = field(default_factory=dict)
    members: dict[int, Right] = field(default_factory=dict)
    flagged: bool = False


class Users(RuleBasedStateMachine):
    library: Pincite
    runs: ClassVar[int] = 0
    secrets: ClassVar[int] = 0
    seen: ClassVar[int] = 0
    """Words that the users of all runs saw: the machine would be of no use if nobody saw any."""

    def __init__(self) -> None:
        super().__init__()
        accounts = self.library.accounts
        assert accounts
        cls = type(self)
        cls.runs += 1
        admin = accounts.of({"iss": "test", "sub": "first", "email": "first@example.org", "email_verified": True})
        self.users = list[User]()
        for number, role in enumerate(ROLES):
            email = f"u{number}-{cls.runs}@example.org"
            accounts.add(admin, email, role)
            self.users.append(accounts.of({"iss": "test", "sub": email, "email": email, "email_verified": True}))
        self.views = [self.library.of(user) for user in self.users]
        self.documents, self.collections, self.sessions = dict[str, Kept](), dict[str, Kept](), dict[str, Kept]()
        self.turns, self.grids, self.tokens = dict[str, Kept](), dict[str, Kept](), dict[str, Kept]()

    # ------------------------------------------------------------ what the model says

    def _right(self, user: int, collection: str) -> Right | None:
        """What the user may do there; the owner everything."""
        kept = self.collections.get(collection)
        return None if kept is None else Right.REVIEW if kept.owner == user else kept.members.get(user)

    def _sees_document(self, user: int, document: str) -> bool:
        shared = (id_ for id_, one in self.collections.items() if document in one.documents)
        return self.documents[document].owner == user or any(self._right(user, one) for one in shared)

    def _may_change(self, user: int, document: str) -> bool:
        shared = (id_ for id_, one in self.collections.items() if document in one.documents)
        own = self.documents[document].owner == user
        return own or any(self._right(user, one) in (Right.WRITE, Right.REVIEW) for one in shared)

    def _sees_turn(self, user: int, turn: str) -> bool:
        session = self.sessions[self.turns[turn].within]
        reviews = self._right(user, session.within) is Right.REVIEW and ROLES[user] is not Role.READER
        return session.owner == user or (self.turns[turn].flagged and reviews)

    def _decides(self, user: int, turn: str) -> bool:
        session = self.sessions[self.turns[turn].within]
        alone = session.owner == user and not session.within
        return ROLES[user] is not Role.READER and (
            alone or (self._right(user, session.within) is Right.REVIEW and self._sees_turn(user, turn))
        )

    def _sees_grid(self, user: int, grid: str) -> bool:
        return self.grids[grid].owner == user or self._right(user, self.grids[grid].within) is not None

    def _allowed(self, user: int) -> set[str]:
        return {
            *(one.secret for id_, one in self.documents.items() if self._sees_document(user, id_)),
            *(one.secret for id_, one in self.collections.items() if self._right(user, id_)),
            *(one.secret for one in self.sessions.values() if one.owner == user),
            *(one.secret for id_, one in self.turns.items() if self._sees_turn(user, id_)),
            *(one.secret for id_, one in self.grids.items() if self._sees_grid(user, id_)),
            *(one.secret for one in self.tokens.values() if one.owner == user),
        }

    def _who(self, data: st.DataObject, owner: int) -> int:
        """Return who tries something: as often as not the owner of what it is about."""
        return data.draw(st.sampled_from([owner] * len(ROLES) + list(range(len(ROLES)))))

    def _new(self) -> str:
        type(self).secrets += 1
        return f"secret{self.secrets}x"

    # ------------------------------------------------------------ what users do

    @initialize(
        rights=st.lists(st.sampled_from(Right), min_size=len(ROLES), max_size=len(ROLES)), flagged=st.booleans()
    )
    def begin(self, rights: tuple[Right, ...], flagged: bool) -> None:
        """Each has a document in a collection that the next one is a member of, who asks there."""
        for owner, right in enumerate(rights):
            member, secret = (owner + 1) % len(ROLES), self._new()
            self.add_a_document(owner, same=False)
            document, view = list(self.documents)[-1], self.views[owner]
            collection = view.collections.create(secret).id
            view.collections.add(collection, [document])
            view.sharing.set(collection, self.users[member].email, right)
            self.collections[collection] = Kept(secret, owner, documents={document: None}, members={member: right})
            for user in (owner, member):
                self._begin_session(user, collection)
                self._ask(user, list(self.sessions)[-1], flagged)

    def _begin_session(self, user: int, within: str) -> None:
        secret = self._new()
        self.sessions[self.views[user].sessions.create(secret, collection_id=within).id] = Kept(secret, user, within)

    def _ask(self, user: int, session: str, flagged: bool) -> None:
        """The answer is as if the graph had written it. Raises TurnError."""
        secret = self._new()
        turn = Turn(secret, session, 0, f"What about {secret}?", Mode.AUTO, (), "quoting", TurnStatus.RUNNING, now())
        self.views[user].turns.create(turn)
        status = TurnStatus.FLAGGED if flagged else TurnStatus.ANSWERED
        self.views[user].turns.save(replace(turn, status=status, answer=f"It is {secret}.", reasons=("A doubt.",)))
        self.views[user].notes.write(session, self.sessions[session].secret)
        self.turns[secret] = Kept(secret, user, session, flagged=flagged)

    @rule(user=WHO, same=st.booleans())
    def add_a_document(self, user: int, same: bool) -> None:
        """``same``: with bytes that others have, too."""
        secret, shelf = self._new(), self.views[user].ingest._shelf
        content = f"{len(self.documents) if same else secret:064}"[-64:]
        identity = shelf.id_of(content)
        if identity in self.documents:
            assert self.documents[identity].owner == user, "each has documents of their own"
            return
        text = f"# The lease\nThe tenant {secret} pays the rent on the first day of each month."
        shelf.add_document(identity, f"{secret}.pdf", 1, PdfInfo(1, (), {}), content)
        pages = [page(0, text)]
        shelf.put_pages(identity, pages, list(split_pages(pages, document_id=identity, title=secret)))
        shelf.mark_searchable(identity)
        self.documents[identity] = Kept(secret, user)

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def delete_a_document(self, data: st.DataObject) -> None:
        document = data.draw(st.sampled_from(list(self.documents)))
        user = self._who(data, self.documents[document].owner)
        if self._tried(lambda: self.views[user].ingest.remove(document), self.documents[document].owner == user):
            del self.documents[document]
            for one in self.collections.values():
                one.documents.pop(document, None)

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def rename_a_document(self, data: st.DataObject) -> None:
        document = data.draw(st.sampled_from(list(self.documents)))
        user = self._who(data, self.documents[document].owner)
        may, secret = self._may_change(user, document), self.documents[document].secret
        self._tried(lambda: self.views[user].library.rename(document, f"{secret}, renamed.pdf"), may)
        self._tried(lambda: self.views[user].ingest.relate(document, "company", secret), may)

    @rule(user=WHO)
    def create_a_collection(self, user: int) -> None:
        secret = self._new()
        made = self.views[user].collections.create(secret)
        self.collections[made.id] = Kept(secret, user)
        same = self.views[(user + 1) % 4].collections.create(secret)  # the name is not taken for others
        self.views[(user + 1) % 4].collections.delete(same.id)

    @precondition(lambda self: self.collections and self.documents)
    @rule(data=st.data())
    def put_into_a_collection(self, data: st.DataObject) -> None:
        collection = data.draw(st.sampled_from(list(self.collections)))
        document = data.draw(st.sampled_from(list(self.documents)))
        user = self._who(data, self.collections[collection].owner)
        writes = self._right(user, collection) in (Right.WRITE, Right.REVIEW)
        may = writes and self.documents[document].owner == user
        if self._tried(lambda: self.views[user].collections.add(collection, [document]), may):
            self.collections[collection].documents[document] = None
        assert (document in self.library.collections.get(collection).document_ids) == (
            document in self.collections[collection].documents
        )

    @precondition(lambda self: self.collections)
    @rule(data=st.data())
    def take_out_of_a_collection(self, data: st.DataObject) -> None:
        collection = data.draw(st.sampled_from(list(self.collections)))
        user = self._who(data, self.collections[collection].owner)
        if self.collections[collection].documents:
            document = data.draw(st.sampled_from(list(self.collections[collection].documents)))
            may = self._right(user, collection) in (Right.WRITE, Right.REVIEW)
            if self._tried(lambda: self.views[user].collections.take_out(collection, document), may):
                self.collections[collection].documents.pop(document)

    @precondition(lambda self: self.collections)
    @rule(member=WHO, right=st.sampled_from(RIGHTS), data=st.data())
    def share_a_collection(self, member: int, right: Right | None, data: st.DataObject) -> None:
        collection = data.draw(st.sampled_from(list(self.collections)))
        user = self._who(data, self.collections[collection].owner)
        may = self.collections[collection].owner == user and member != user
        if self._tried(lambda: self.views[user].sharing.set(collection, self.users[member].email, right), may):
            self.collections[collection].members.pop(member, None)
            if right:
                self.collections[collection].members[member] = right

    @precondition(lambda self: self.collections)
    @rule(data=st.data())
    def delete_a_collection(self, data: st.DataObject) -> None:
        collection = data.draw(st.sampled_from(list(self.collections)))
        user = self._who(data, self.collections[collection].owner)
        if self._tried(
            lambda: self.views[user].collections.delete(collection), self.collections[collection].owner == user
        ):
            del self.collections[collection]
            for one in (*self.sessions.values(), *self.grids.values()):
                one.within = "" if one.within == collection else one.within

    @rule(data=st.data())
    def begin_a_session(self, data: st.DataObject) -> None:
        within = data.draw(st.sampled_from(["", *self.collections]))
        user = self._who(data, self.collections[within].owner if within else 0)
        self._tried(lambda: self._begin_session(user, within), not within or self._right(user, within) is not None)

    @precondition(lambda self: self.sessions)
    @rule(flagged=st.booleans(), data=st.data())
    def ask(self, flagged: bool, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(list(self.sessions)))
        user = self._who(data, self.sessions[session].owner)
        self._tried(lambda: self._ask(user, session, flagged), self.sessions[session].owner == user)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def send_to_review(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(list(self.turns)))
        user = self._who(data, self.sessions[self.turns[turn].within].owner)
        may = self.sessions[self.turns[turn].within].owner == user or self._decides(user, turn)
        if self._tried(lambda: self.views[user].reviews.send(turn), may):
            self.turns[turn].flagged = True

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(list(self.turns)))
        user = self._who(data, self.sessions[self.turns[turn].within].owner)
        waits = self.library.turns.get(turn).status is not TurnStatus.REVIEWED
        if not waits:
            self._tried(lambda: self.views[user].reviews.undo(turn), self._decides(user, turn))
        elif self._tried(
            lambda: self.views[user].reviews.decide(turn, ReviewDecision.APPROVED, reviewer=self.users[user].email),
            self._decides(user, turn),
        ):
            self.turns[turn].flagged = True

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def delete_a_session(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(list(self.sessions)))
        user = self._who(data, self.sessions[session].owner)
        with suppress(AccessError):  # of another's nothing is there to delete, or answers that wait for review
            self.views[user].sessions.delete(session)
        if self.sessions[session].owner == user:
            del self.sessions[session]
            self.turns = {id_: one for id_, one in self.turns.items() if one.within != session}
        assert (self.library.sessions.find(session) is not None) == (session in self.sessions)

    @precondition(lambda self: self.documents)
    @rule(data=st.data())
    def create_a_grid(self, data: st.DataObject) -> None:
        within, secret = data.draw(st.sampled_from(["", *self.collections])), self._new()
        user = self._who(data, self.collections[within].owner if within else 0)
        may = not within or self._right(user, within) in (Right.WRITE, Right.REVIEW)
        made, store = list[str](), self.views[user].grids._store  # nothing fills it meanwhile
        columns = (new_column("Rent", "What is the rent?"),)
        every = list(self.documents)
        if self._tried(lambda: made.append(store.create(secret, columns, every, collection_id=within).id), may):
            self.grids[made[0]] = Kept(secret, user, within)

    @rule(user=WHO)
    def create_a_token(self, user: int) -> None:
        from pincite.core.domain.tokens import Permission

        secret = self._new()
        token, _ = self.views[user].tokens.create(secret, [Permission.READ])
        self.tokens[token.id] = Kept(secret, user)

    # ------------------------------------------------------------ what users see

    @rule(user=WHO)
    def look(self, user: int) -> None:
        view, allowed = self.views[user], self._allowed(user)
        found = {word for one in self._looks(user, view) for word in SECRET.findall(repr(one))}
        assert found - allowed == set(), "somebody sees what is not theirs"
        assert allowed - found == set(), "somebody does not see what is theirs"
        waiting = [id_ for id_ in self.turns if self._sees_turn(user, id_)]
        flagged = [id_ for id_ in waiting if self.library.turns.get(id_).status is TurnStatus.FLAGGED]
        assert view.turns.count_flagged() == len(flagged)
        assert view.turns.count_lines(TurnFilter()) == len(waiting)
        assert len(view.library.list()) == sum(self._sees_document(user, one) for one in self.documents)
        type(self).seen += len(found)

    def _looks(self, user: int, view: UserPincite) -> Iterator[Any]:
        """Yield all that there is to see; what is refused yields nothing."""
        operations = Operations(lambda: view)
        yield view.library.list()
        yield view.collections.list()
        yield view.sessions.list()
        yield view.sessions.list("secret")
        yield view.turns.recent(1000)
        yield view.turns.lines(TurnFilter(), most=1000)
        yield view.turns.lines(TurnFilter(TurnStatus.FLAGGED), most=1000)
        yield view.reviews.decided(most=1000)
        yield view.reviews.drafted()
        yield view.grids.list()
        yield view.grids.to_review()
        yield view.tokens.list()
        yield view.search.facts(view.library.list())
        yield view.search.relations()
        yield view.library.files_missing()
        yield view.library.outdated()
        yield view.ingest.jobs()
        yield operations.list_documents()
        yield operations.list_collections()
        yield operations.grids.list()
        yield operations.search_documents("The tenant pays the rent", [], "", 30)
        yield operations.verify_quote("pays the rent on the first day", "", None, "")
        yield self.library.settings.current.data_dir
        for document, kept in _some(self.documents):
            if not self._sees_document(user, document):
                yield from self._seen(lambda id_: view.documents.page_image(id_, 0), document)
            for look in (
                view.library.get, view.library.find, view.library.receipts, view.library.outline,
                view.library.coverage, view.library.given_name, view.library.corrected, view.library.file,
                lambda id_: view.library.page(id_, 0), lambda id_: view.library.pages(id_, [0]),
                lambda id_: view.library.page_text(id_, 0), lambda id_: view.library.opening_passages(id_, 9),
                lambda id_: view.library.passages_of_pages([(id_, 0)]), lambda id_: view.documents.find(id_, "tenant"),
                lambda id_: view.illustrations.on_page(id_, 0),
                lambda id_: view.search.try_out("Who pays the rent?", [id_]),
                lambda id_: view.versions.earlier_of(id_), lambda id_: operations.read_page(id_, 1),
                lambda id_: view.turns.lines(TurnFilter(document_id=id_), most=9),
                lambda id_: view.library.located(Citation(1, id_, "", 0, "1", "The tenant", 12, 22)),
            ):  # fmt: skip
                yield from self._seen(look, document)
            yield from self._seen(view.library.find, f"{kept.secret}, renamed.pdf")
        for collection, kept in _some(self.collections):
            yield from self._seen(view.collections.get, collection)
            yield from self._seen(view.collections.find, kept.secret)
            yield from self._seen(view.sharing.members, collection)
        for session, _ in _some(self.sessions):
            for of_session in (
                view.sessions.get, view.sessions.find, view.sessions.export_markdown, view.turns.of_session,
                view.turns.exchanges, view.turns.count, view.notes.of_session, view.notes.export_markdown,
                lambda id_: view.turns.newest(id_, 9), lambda id_: view.runner.ask(id_, "Who pays?") and None,
            )[: 9 if self.sessions[session].owner == user else 10]:  # fmt: skip
                yield from self._seen(of_session, session)
        for turn, _ in _some(self.turns):
            for of_turn in (view.turns.get, view.turns.without_trace, view.reviews.history, view.reviews.draft,
                            view.runner.snapshot, view.exports.of_turn):  # fmt: skip
                yield from self._seen(of_turn, turn)
            yield from self._seen(
                lambda id_: view.reviews.reviewed_match(f"What about {id_}?", list(self.documents)), turn
            )
        for grid, _ in _some(self.grids):
            yield from self._seen(view.grids.filled, grid)
            yield from self._seen(operations.grids.read, grid)

    @staticmethod
    def _seen(look: Callable[[str], Any], of: str) -> Iterator[Any]:
        try:
            yield look(of)
        except PinciteError as error:
            yield str(error).replace(of, "").replace(of.removesuffix(", renamed.pdf"), "")

    def _tried(self, do: Callable[[], object], may: bool) -> bool:
        """Return whether it was done; it is refused exactly to those who may not."""
        try:
            do()
        except PinciteError as error:
            assert not may, error
            return False
        return may


def _some(things: dict[str, Kept]) -> list[tuple[str, Kept]]:
    """Return the newest, which are looked at one by one."""
    return list(things.items())[-5:]


@pytest.mark.behaviour("Accounts", "Nobody sees a row, passage, count or name that is not theirs.")
@pytest.mark.usefixtures("each_engine")
def test_nobody_sees_what_is_not_theirs(tmp_path: Path) -> None:
    opened = Settings(data_dir=tmp_path, engine="quoting", admins="first@example.org")
    with closing(open_pincite(opened, at_work=False)) as app:
        machine = type("Machine", (Users,), {"library": app})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, derandomize=True,
                suppress_health_check=list(HealthCheck), phases=[Phase.generate],
            ),
        )  # fmt: skip
        assert machine.seen > 1000  # type: ignore[attr-defined]
