"""What the claim checker learns from: our own rows are sound, and what is left out is never learned from."""

import gzip
import json
import random
from pathlib import Path

from training.checker.examples import LABELS, OWN_FILE, OWN_LEFT_OUT, load_rows, own_rows


def test_own_passages_have_claims_of_every_label() -> None:
    with gzip.open(OWN_FILE, "rt", encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    labels = [label for one in passages for _, label, *_ in one["claims"]]
    assert set(labels) == {"supported", "contradicted", "not there"} and len(labels) > 5_000
    assert all(claim.strip() and one["passage"].strip() for one in passages for claim, *_ in one["claims"])


def test_a_claim_is_paired_with_its_own_passage_and_others_say_nothing_of_it() -> None:
    rows = list(own_rows(random.Random(1)))
    left_out = [row for row in rows if row.source in OWN_LEFT_OUT]
    assert left_out and len({(row.claim, row.context) for row in left_out}) == len(left_out)
    assert {row.label for row in rows} == set(LABELS.values())


def test_what_is_left_out_is_never_learned_from(tmp_path: Path) -> None:
    rows = [
        {
            "source": "s",
            "split_key": f"k{number}",
            "use": "ship",
            "claim": f"C {number}.",
            "context": "T.",
            "label": label,
        }
        for number in range(200)
        for label in ("supported", "unsupported")
    ]
    rows.append(rows[0] | {"use": "measure", "source": "never"})
    for name in ("claims", "support"):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in (rows if name == "claims" else ()))
    train, test = (load_rows(tmp_path, part, seed=1) for part in ("train", "test"))
    assert {row.key for row in train}.isdisjoint(row.key for row in test)
    assert OWN_LEFT_OUT.isdisjoint({row.source for row in train}) and {row.source for row in test} >= OWN_LEFT_OUT
    assert "never" not in {row.source for row in [*train, *test]}
    assert {row.source for row in load_rows(tmp_path, "test", seed=1, shipped=False)} == {"never"}
