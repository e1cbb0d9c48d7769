"""Measure whether the judge separates paraphrased claims that follow from a passage from others, and orders from text.

DIR holds `claims.jsonl` (passage, claim, label, kind) and `orders.jsonl` (text, label); every claim is an answer of its
own that cites its passage, and is cited and judged as a turn's draft is. With an engine that writes prose its critic is
asked about every claim, too.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.metrics import roc_auc_score

from pincite.core.domain.answers import ClaimStatus, Verdict
from pincite.core.domain.documents import Passage
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.search import Evidence
from pincite.core.domain.settings import load_settings
from pincite.core.judge.citations import cite, read_typed
from pincite.core.judge.critique import CRITIC_SCHEMA, critic_question, read_critique, weigh
from pincite.core.judge.verdict import verdict_of
from pincite.core.services.registry import choose_engine
from pincite.core.text.checker import installed_checker
from pincite.core.text.orders import orders_in
from pincite.core.text.prompts import PROMPTS
from pincite.core.text.terms import content_terms

REPORTED = (ClaimStatus.CONTRADICTED, ClaimStatus.UNSUPPORTED)
Row = Mapping[str, Any]
Judged = tuple[Row, Verdict, float]
"""A row with its verdict and the seconds that it took."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the folder with claims.jsonl and orders.jsonl")

    parser.add_argument("--engine", default="quoting", help="whose critic is asked: ollama, openai or openai:MODEL")


def run(options: argparse.Namespace) -> dict[str, Any]:
    engine = choose_engine(load_settings(), options.engine)
    return {
        "engine": engine.name,
        "claims": measured_claims(_rows(options.directory / "claims.jsonl"), engine),
        "orders": measured_orders(_rows(options.directory / "orders.jsonl")),
    }


def measured_claims(rows: Iterable[Row], engine: ChatModel | None = None) -> dict[str, Any]:
    """Return the shares accepted and reported, the AUROC of the confidence and that of shared words; also by kind."""
    judged = [(row, *judge(row["claim"], row["passage"], engine)) for row in rows]
    kinds = sorted({row["kind"] for row, _, _ in judged})
    checker = installed_checker()
    likely = [checker.check(row["claim"], [row["passage"]]).supported for row, _, _ in judged] if checker else []
    found = {"auroc_of_checker": round(float(roc_auc_score(_labels(judged), likely)), 3)} if likely else {}
    return {
        **_figures(judged),
        **found,
        "auroc": _auroc(judged, lambda one: one[1].confidence),
        "auroc_of_shared_words": _auroc(judged, lambda one: share_of_words(one[0]["claim"], one[0]["passage"])),
        "p50_ms": round(statistics.median(seconds for _, _, seconds in judged) * 1000, 1),
        "by_kind": {kind: _figures([one for one in judged if one[0]["kind"] == kind]) for kind in kinds},
    }


def measured_orders(rows: Sequence[Row]) -> dict[str, float]:
    """Return the share of orders that are found and of ordinary lines that are flagged."""
    found = {label: [bool(orders_in(row["text"])) for row in rows if row["label"] == label] for label in _LABELS}
    return {"orders_found": _share(found["order"]), "ordinary_flagged": _share(found["ordinary"])}


def judge(claim: str, passage: str, engine: ChatModel | None = None) -> tuple[Verdict, float]:
    """Return the verdict on an answer of one cited claim, and the seconds that it took."""
    whole = Passage("passage", "document", 0, "1", passage, 0, len(passage))
    evidence = [Evidence(1, whole, "document.pdf", {})]

    def page_text(document_id: str, page_index: int) -> str:
        return passage

    begun = time.perf_counter()
    parts, removed = read_typed(f"{claim.rstrip('.')} [1].", evidence)
    cited = cite(parts, evidence, page_text)
    verdict = verdict_of("", cited.parts, evidence, removed_markers=removed, page_text=page_text, threshold=0.0)
    if engine and engine.writes_prose and verdict.claims:
        asked = f"<passages>\n[1] {passage}\n</passages>\n\nAnswer: {claim} [1]\n\n{critic_question(verdict.claims)}"
        critique = read_critique(engine.structured(PROMPTS["answer"], asked, CRITIC_SCHEMA), len(verdict.claims))
        verdict = weigh(verdict, critique, critic=engine.name, evidence=evidence, threshold=0.0)
    return verdict, time.perf_counter() - begun


def is_accepted(verdict: Verdict) -> bool:
    """Return whether all that was claimed is shown as supported."""
    return bool(verdict.claims) and all(claim.status is ClaimStatus.SUPPORTED for claim in verdict.claims)


def share_of_words(claim: str, passage: str) -> float:
    terms = set(content_terms(claim))
    return len(terms & set(content_terms(passage))) / len(terms) if terms else 1.0


_LABELS = ("order", "ordinary")


def _figures(judged: Sequence[Judged]) -> dict[str, float]:
    true = [verdict for row, verdict, _ in judged if row["label"] == "supported"]
    false = [verdict for row, verdict, _ in judged if row["label"] != "supported"]
    reported = [any(claim.status in REPORTED for claim in verdict.claims) for verdict in false]
    return {
        "true": len(true),
        "true_accepted": _share(map(is_accepted, true)),
        "false": len(false),
        "false_accepted": _share(map(is_accepted, false)),
        "false_reported": _share(reported),
    }


def _auroc(judged: Sequence[Judged], score: Callable[[Judged], float]) -> float:
    return round(float(roc_auc_score(_labels(judged), [score(one) for one in judged])), 3)


def _labels(judged: Sequence[Judged]) -> list[bool]:
    return [row["label"] == "supported" for row, _, _ in judged]


def _share(values: Iterable[bool]) -> float:
    flags = list(values)
    return round(sum(flags) / len(flags), 3) if flags else 0.0


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
