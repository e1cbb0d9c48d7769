"""Laws of fusing and packing that hold whatever comes in."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.documents import Passage
from pincite.core.domain.search import Candidate, Reason
from pincite.core.search.fuse import fuse_rankings
from pincite.core.search.pack import MAX_PER_PAGE, fill_budget, keep_best, to_evidence

rankings = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), st.floats(0.1, 5)), max_size=5
)


@st.composite
def ranked_candidates(draw: st.DrawFn) -> list[Candidate]:
    places = draw(
        st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 3), st.integers(0, 5)), unique=True, max_size=8)
    )
    scores = sorted((draw(st.floats(0, 1)) for _ in places), reverse=True)
    return [
        Candidate(
            Passage(
                f"{document}:{page}:{start}", document, page, str(page), draw(st.text("abcd ", max_size=60)), start, 0
            ),
            {"reranked": score, "fused": score},
        )
        for (document, page, start), score in zip(places, scores, strict=True)
    ]


@given(rankings)
def test_fusion_ranks_everything_once_best_first_whatever_the_order_of_rankings(
    given: list[tuple[list[str], float]],
) -> None:
    fused = fuse_rankings(given)
    assert {identity for identity, _ in fused} == {identity for ranking, _ in given for identity in ranking}
    assert len({identity for identity, _ in fused}) == len(fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    other = dict(fuse_rankings(given[::-1]))
    assert all(abs(score - other[identity]) < 1e-9 for identity, score in fused)


@given(rankings, st.sampled_from("abcdefgh"))
def test_one_more_ranking_that_leads_with_it_never_harms_a_passage(
    given: list[tuple[list[str], float]], best: str
) -> None:
    before = dict(fuse_rankings(given)).get(best, 0.0)
    assert dict(fuse_rankings([*given, ([best], 1.0)]))[best] > before


@given(ranked_candidates(), st.floats(0, 1), st.integers(1, 12), st.lists(st.sampled_from("xyz"), unique=True))
def test_kept_passages_respect_every_limit_and_all_others_are_reported(
    ranked: list[Candidate], floor: float, most: int, targets: list[str]
) -> None:
    kept, left_out = keep_best(ranked, floor=floor, most=most, targets=targets)
    assert [c for c in ranked if c in kept] == kept and len(kept) <= most
    assert all(candidate.scores["reranked"] >= floor for candidate in kept)
    assert max(Counter(candidate.passage.page for candidate in kept).values(), default=0) <= MAX_PER_PAGE
    assert sum(int(told.split()[0]) for told in left_out) == len(ranked) - len(kept)


@given(ranked_candidates(), st.integers(0, 200), st.data())
def test_evidence_holds_the_budget_the_best_and_nothing_twice(
    kept: list[Candidate], room: int, data: st.DataObject
) -> None:
    passages = [candidate.passage for candidate in kept]
    around = {p.id: data.draw(st.lists(st.sampled_from(passages), max_size=2)) for p in passages}
    chosen, _ = fill_budget(kept, around, passages[-1:], context_characters=room)
    evidence = to_evidence(chosen, {})
    assert len(evidence) == len(chosen) == len({item.passage.id for item in evidence})
    assert [item.number for item in evidence] == list(range(1, len(evidence) + 1))
    assert sum(len(item.passage.text) for item in evidence) <= max(room, *(len(p.text) for p in passages[:1]), 0)
    if kept:
        assert evidence[0].passage == kept[0].passage and evidence[0].reason is Reason.SEARCH
