"""The teacher: all-mpnet-base-v2 as a classifier, too large to ship; the checker learns from its probabilities too.

Needs the package transformers and the folder of the model (Apache-2.0).
"""

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor, nn
from transformers import AutoTokenizer, MPNetForSequenceClassification

from pincite.core.text.checker import MAX_TOKENS
from training.checker.examples import Example, Row


class Teacher(nn.Module):
    """(batch, length) token ids → (batch, 3) logits."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.network = MPNetForSequenceClassification.from_pretrained(folder, num_labels=3)

    def forward(self, ids: Tensor, kinds: Tensor, attended: Tensor) -> Tensor:
        del kinds  # MPNet has none
        logits: Tensor = self.network(input_ids=ids, attention_mask=attended.long()).logits
        return logits


def encoded_for_teacher(rows: Iterable[Row], folder: Path) -> list[Example]:
    """Return every row as MPNet's token ids, cut at MAX_TOKENS."""
    tokenizer, chosen = AutoTokenizer.from_pretrained(folder), list(rows)
    claims, contexts = [row.claim for row in chosen], [row.context for row in chosen]
    pairs = tokenizer(claims, contexts, truncation="longest_first", max_length=MAX_TOKENS)
    return [Example(row, tuple(ids), 0) for row, ids in zip(chosen, pairs["input_ids"], strict=True)]


def groups(teacher: Teacher, rate: float) -> list[dict[str, object]]:
    return [{"params": [one for one in teacher.parameters() if one.requires_grad], "highest": rate}]
