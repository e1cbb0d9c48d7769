"""A question that another program asked: its steps as they happen, and its end when the program goes away."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

import anyio.to_thread
from pydantic import BaseModel, Field
from starlette.requests import Request

from pincite.core.domain.errors import StoppedError, TurnError

HEARTBEAT_SECONDS = 1.0
"""How often it is looked whether the program is still there."""


class Progress(BaseModel):
    step: int = Field(description="number of steps so far")
    text: str = Field(description="what is being done")


Result = TypeVar("Result")


class Asking(Generic[Result]):
    """``ask``: the operation, which reports its progress and runs in a thread of its own."""

    def __init__(self, ask: Callable[[Callable[[int, str], None]], Result]) -> None:
        self._ask = ask
        self._gone = threading.Event()

    async def answer(self, request: Request) -> Result:
        """Return the answer. Raises a PinciteError; StoppedError if the program went away."""
        async for event in self.events():
            if event is not None and not isinstance(event, Progress):
                return event
            if await request.is_disconnected():
                raise StoppedError("The program that asked went away.")
        raise TurnError("The question was not answered.")

    async def events(self) -> AsyncIterator[Progress | Result | None]:
        """Yield the steps, None where nothing happens for a while, and last the answer. Raises a PinciteError.

        The question is stopped if nobody reads on.
        """
        loop, happened = asyncio.get_running_loop(), asyncio.Queue[Progress | None]()
        reported = 0

        def report(step: int, text: str) -> None:
            nonlocal reported
            if self._gone.is_set():
                raise StoppedError("The program that asked went away.")
            if step > reported:
                reported = step
                loop.call_soon_threadsafe(happened.put_nowait, Progress(step=step, text=text))

        asked = asyncio.ensure_future(anyio.to_thread.run_sync(self._ask, report, abandon_on_cancel=True))
        asked.add_done_callback(lambda _: happened.put_nowait(None))
        try:
            while True:
                try:
                    event = await asyncio.wait_for(happened.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    yield await asked
                    return
                yield event
        finally:
            self._gone.set()
            asked.cancel()
