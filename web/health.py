"""What load balancers and monitors ask of a server, before the door: ``/healthz``, ``/readyz`` and ``/metrics``."""

from collections.abc import Callable

import anyio
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pincite.core.domain.errors import PinciteError
from pincite.core.services.bootstrap import Pincite

LIVE, READY, METRICS = "/healthz", "/readyz", "/metrics"
FORMAT = "text/plain; version=0.0.4; charset=utf-8"
HEADERS = {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store"}


class HealthChecks:
    """ASGI middleware around the whole app. ``pincite`` opens the library, or returns it as it is open."""

    def __init__(self, app: ASGIApp, pincite: Callable[[], Pincite]) -> None:
        self._app = app
        self._pincite = pincite

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["path"] if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else ""
        if asked == LIVE:
            await PlainTextResponse("alive", headers=HEADERS)(scope, receive, send)
        elif asked == READY:
            ready = await anyio.to_thread.run_sync(self._is_ready)
            status, said = (200, "ready") if ready else (503, "not ready")
            await PlainTextResponse(said, status, headers=HEADERS)(scope, receive, send)
        elif asked == METRICS and (page := await anyio.to_thread.run_sync(self._metrics)) is not None:
            await Response(page, headers=HEADERS, media_type=FORMAT)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _metrics(self) -> bytes | None:
        try:
            return self._pincite().telemetry.page()
        except (PinciteError, SQLAlchemyError, OSError):
            return None

    def _is_ready(self) -> bool:
        """Return whether the library can be read."""
        try:
            self._pincite().health.reachable()
        except (PinciteError, SQLAlchemyError, OSError):
            return False
        return True
