"""The prompts of language models: every prompt by its name in ``prompts.toml``."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

PROMPTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
