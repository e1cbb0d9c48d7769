"""A hostile model server: every behaviour of the campaign once, by one way of asking, with short limits."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, product

import pytest

from benchmarks.attacks import hostile_server
from benchmarks.attacks.hostile_server import EVERYWHERE, ONLY, STOPPED_IN, WAYS, Outcome

_WAYS_OF = {target: [way for way, met in WAYS.items() if met == target] for target in ONLY}
_EACH = [
    *zip(EVERYWHERE, cycle(WAYS)),
    *((name, way) for target, names in ONLY.items() for name, way in zip(names, cycle(_WAYS_OF[target]))),
]
LIMIT_SECONDS = 0.7


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with hostile_server.hostile_server() as started, hostile_server.short_limits(LIMIT_SECONDS):
        yield started


@pytest.fixture(scope="module")
def outcomes(address: str) -> Mapping[tuple[str, str], Outcome]:
    """All at once, since most of the time is spent waiting for the server."""
    with ThreadPoolExecutor(12) as pool:
        return dict(zip(_EACH, pool.map(lambda case: hostile_server.trial(address, *case), _EACH), strict=True))


def test_there_are_many_behaviours() -> None:
    assert len({name for name, _ in _EACH}) >= 83


@pytest.mark.parametrize(("name", "way"), _EACH, ids=lambda part: part.replace(" ", "-"))
def test_it_ends_with_a_sentence_or_a_harmless_result(
    name: str, way: str, outcomes: Mapping[tuple[str, str], Outcome]
) -> None:
    outcome = outcomes[name, way]
    assert not outcome.fault, outcome


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_ends_every_wait(way: str, address: str) -> None:
    before = hostile_server.threads()
    with hostile_server.full_backlog() as busy:
        for where in (busy, *(f"{address}/{name}/{WAYS[way]}" for name in STOPPED_IN[::4])):
            assert hostile_server.stop_trial(where, way).seconds < hostile_server.SLACK_SECONDS
    assert not hostile_server.left_beside(before)


def test_nothing_is_left_open(outcomes: Mapping[tuple[str, str], Outcome], address: str) -> None:
    running, descriptors = hostile_server.threads(), hostile_server.descriptors()
    names = ("resets-in-the-body", "hangs-in-the-body", "gzip-bomb", "html", "chunks-that-are-cut")
    with ThreadPoolExecutor(12) as pool:
        for _ in pool.map(lambda case: hostile_server.trial(address, *case), product(names, WAYS)):
            pass
    assert not hostile_server.left_beside(running) and hostile_server.descriptors() <= descriptors
