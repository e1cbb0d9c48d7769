"""Promise: formulas are read whole however many questions begin at once."""

from concurrent.futures import ThreadPoolExecutor

from pincite.core.figures.formulas import SHIPPED, read_formulas


def test_threads_may_read_formulas_at_once() -> None:
    """CPython 3.11 loses count where two threads parse, once in a while; a lock keeps them apart."""
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda _: read_formulas(SHIPPED).problems, range(64)))
    assert set(read) == {()}
