"""Every campaign in full, as `python -m benchmarks faults` runs it: ``pytest -m campaign``, some twenty minutes."""

from argparse import Namespace

import pytest

from benchmarks import faults


@pytest.mark.campaign
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", faults.SHARES)
def test_nothing_breaks_at_length(name: str) -> None:
    result = faults.run(Namespace(only=[name], minutes=faults.MINUTES))
    tried = [key for key in faults.BARS if key in result]
    assert tried, "the campaign reports what it tried"
    assert {key: result[key] for key in tried if result[key] < faults.BARS[key]} == {}
    assert {key: result[key] for key in faults.FAULTS if result.get(key)} == {}
