"""Domain-specific terms are files: those shipped help, the user's own win, and a broken one is reported and skipped."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.settings import Settings
from pincite.core.questions.lexicon import SHIPPED, Lexicon, Term, read_lexicon, shipped_lexicon
from pincite.core.questions.plan import plan_question
from pincite.core.services.bootstrap import open_pincite


def test_the_shipped_terms_can_all_be_used() -> None:
    lexicon = shipped_lexicon()
    assert lexicon.terms and lexicon.sections and not lexicon.problems
    for term in lexicon.terms.values():
        assert term.printed and set(term.sections) <= lexicon.sections.keys()


def test_the_users_own_terms_add_and_win(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        '[terms.capex]\nnames = ["capex"]\nprinted = "new machines"\n'
        '[terms.mtbf]\nnames = ["MTBF"]\nprinted = "mean time between failures"\nsections = ["reliability"]\n'
        '[sections.reliability]\nnames = ["reliability"]\nheadings = ["Reliability data"]\n'
    )
    lexicon = read_lexicon(SHIPPED, tmp_path)
    assert [term.printed for term in lexicon.terms_in("capex?")] == ["new machines"]
    plan = plan_question("What is the mtbf of the pump?", lexicon=lexicon)
    assert plan.wanted_sections == ("Reliability data",)
    assert plan.sub_queries[1].text == "Reliability data mean time between failures"
    assert "mean time between failures" in plan.sub_queries[0].variations[0]
    assert lexicon.terms_in("What is free cash flow?")


@pytest.mark.parametrize(
    "written",
    ["no toml", '[terms.x]\nnames = "a"\nprinted = "b"', "terms = 3", "[sections.x]\nnames = []", "[terms]\nx = 1"],
)
def test_broken_file_is_reported_and_skipped(tmp_path: Path, written: str) -> None:
    (tmp_path / "broken.toml").write_text(written)
    (tmp_path / "whole.toml").write_text('[terms.y]\nnames = ["why"]\nprinted = "because"\n')
    lexicon = read_lexicon(tmp_path)
    assert list(lexicon.terms) == ["y"]
    [problem] = lexicon.problems
    assert "broken.toml is not used: " in problem


def test_without_terms_a_question_is_searched_as_it_is_asked() -> None:
    plan = plan_question("What was the capex?", lexicon=Lexicon())
    assert plan.wanted_sections == () and len(plan.sub_queries) == 1


@given(st.lists(st.text("abc", min_size=2, max_size=5), min_size=1, max_size=6, unique=True), st.data())
def test_the_longest_name_counts(names: list[str], data: st.DataObject) -> None:
    lexicon = Lexicon({name: Term((name,), name) for name in names})
    asked = data.draw(st.sampled_from(names))
    assert [term.printed for term in lexicon.terms_in(f"What is {asked}?")] == [asked]
    longer = Lexicon({**lexicon.terms, "whole": Term((f"{asked} rate",), "whole")})
    assert [term.printed for term in longer.terms_in(f"What is {asked} rate?")] == ["whole"]


def test_own_terms_apply_from_the_next_question_and_broken_file_is_reported(settings: Settings) -> None:
    app = open_pincite(settings)
    try:
        own = settings.data_dir / "terms"
        own.mkdir()
        (own / "pumps.toml").write_text('[terms.mtbf]\nnames = ["mtbf"]\nprinted = "mean time between failures"\n')
        assert "mean time between failures" in app.search.try_out("What is the MTBF?")[0].sub_queries[0].variations[0]
        (own / "pumps.toml").write_text("no toml")
        [check] = [check for check in app.health.checks() if check.part == "terms"]
        assert not check.ok and "pumps.toml is not used" in check.detail
    finally:
        app.close()
