"""Many sessions at once, while documents come in: no word of one in another, no error, no threads left behind."""

from benchmarks.attacks import sessions


def test_sessions_at_once_keep_to_their_own_documents() -> None:
    counts = sessions.run(300, sessions=4, turns=12, warm_up=4)
    assert (counts["turns"], counts["errors"], counts["leaks"]) == (12, 0, 0)
    assert counts["descriptor_growth"] <= 8 and counts["thread_growth"] <= 2
