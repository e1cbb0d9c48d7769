"""Promises of a library that several processes share: what one leaves, another goes on with."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.errors import TurnError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.ingest.workshop import make_pdf
from tests.model_servers import Script, fake_openai_server

pytestmark = pytest.mark.usefixtures("each_engine")
PAGES = 120
SECONDS = 120
QUESTION = "What is the penalty for late payment?"


def _until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


WORK = """
import sys
from contextlib import closing
from pathlib import Path
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
with closing(open_pincite(Settings(data_dir=Path(sys.argv[1]), engine="quoting"))) as app:
    app.ingest.wait()
"""
ASK = """
import sys
from contextlib import closing
from pathlib import Path
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
settings = Settings(data_dir=Path(sys.argv[1]), engine="openai:m", openai_address=sys.argv[2])
with closing(open_pincite(settings, at_work=False)) as app:
    app.runner.wait(app.runner.ask(sys.argv[3], sys.argv[4]), 300)
"""


def _started(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a script in another process; what it needs of the environment says which database."""
    return subprocess.Popen([sys.executable, "-c", script, *arguments])


@pytest.mark.behaviour("Several processes", "A job that loses its process goes on in another.")
def test_a_killed_workers_job_goes_on_elsewhere(tmp_path: Path) -> None:
    texts = [f"Sheet {number} of the ledger speaks of the harvest." for number in range(PAGES)]
    file = make_pdf(tmp_path / "ledger.pdf", texts)
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", engine="quoting", role="app"))) as app:
        document = app.ingest.add(file, file.name).document
        assert not app.ingest.wait(timeout_seconds=0.5), "the app leaves reading to workers"
        worker = _started(WORK, str(app.settings.current.data_dir))
        _until(lambda: app.library.receipts(document.id))
        worker.kill()
        worker.wait()
        assert app.library.get(document.id).status is not DocumentStatus.READY
        assert _started(WORK, str(app.settings.current.data_dir)).wait(SECONDS) == 0
        assert app.library.get(document.id).status is DocumentStatus.READY
        texts_read = [app.library.page_text(document.id, at) for at in range(PAGES)]
        assert [" ".join(text.split()) for text in texts_read] == texts
        assert app.indexes.check() == []


@pytest.mark.behaviour(
    "Several processes", "An answer whose process was killed is offered to be continued by any other."
)
def test_a_killed_answer_is_continued_by_another_process(app: Pincite) -> None:
    session = app.sessions.create()
    gate = threading.Event()
    script = Script(pieces=("It is 1.5 % of the overdue amount", " per month [1]."), reply='{"claims": []}', gate=gate)
    with fake_openai_server(script) as server:
        settings = app.settings.current.but(engine="openai:m", openai_address=server.address)
        other = _started(ASK, str(settings.data_dir), server.address, session.id, QUESTION)
        _until(app.turns.running)
        [turn_id] = app.turns.running()
        _until(lambda: len(app.turns.get(turn_id).trace) >= 3)
        seen = app.runner.snapshot(turn_id)
        assert seen.running and seen.elsewhere and len(seen.turn.trace) >= 3, "its process is alive"
        with pytest.raises(TurnError):
            app.runner.ask(session.id, QUESTION)
        other.kill()
        other.wait()
        gate.set()
        _until(lambda: not app.runner.snapshot(turn_id).running)
        turn = app.turns.get(turn_id)
        assert turn.status is TurnStatus.INTERRUPTED
        app.close()
        with closing(open_pincite(settings)) as next_app:
            assert next_app.runner.can_continue(turn)
            next_app.runner.continue_turn(turn_id)
            done = next_app.runner.wait(turn_id, SECONDS).turn
    assert done.status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED) and done.citations
    assert len(done.trace) > len(turn.trace)
