"""Promises of the settings: where a value comes from, what is refused, and that the documentation lists them all.

``python -m tests.test_settings`` writes the table of docs/settings.md again.
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.settings import PACKAGE_ROOT, Choices, Settings, load_settings, save_choices

PAGE = PACKAGE_ROOT / "docs" / "settings.md"
SCHEMA = Choices.model_json_schema()["properties"]
NUMBERS = {name: (about["minimum"], about["maximum"]) for name, about in SCHEMA.items() if "minimum" in about}


def table() -> str:
    lines = ["| variable | default | range | what it does |", "|---|---|---|---|"]
    for name, about in SCHEMA.items():
        default = f"`{about['default']}`" if about["default"] != "" else ""
        low_to_high = "{:,} to {:,}".format(*NUMBERS[name]) if name in NUMBERS else ", ".join(about.get("enum", []))
        words = f"{about['title']}. {about['description']}"
        lines.append(f"| `PINCITE_{name.upper()}` | {default} | {low_to_high} | {words} |")
    return "\n".join(lines)


def test_the_documentation_lists_every_setting() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_every_setting_has_a_name_and_an_explanation_and_every_number_a_range() -> None:
    for name, field in Choices.model_fields.items():
        assert field.title and field.description, name
        assert name in NUMBERS or field.annotation not in (int, float), name


def test_a_variable_comes_before_a_choice_and_a_choice_before_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_choices(tmp_path, {"kept": 12, "max_pages": 30})
    monkeypatch.setenv("PINCITE_KEPT", "7")
    monkeypatch.setenv("PINCITE_OCR", "no")
    loaded = load_settings(tmp_path)
    assert (loaded.kept, loaded.max_pages, loaded.ocr) == (7, 30, False)
    assert loaded.candidates == Settings(data_dir=tmp_path).candidates


def test_settings_that_are_no_more_are_left_aside(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"retry_kept": 30, "kept": 12}))
    assert load_settings(tmp_path).kept == 12


@pytest.mark.parametrize(
    ("name", "value"), [("KEPT", "many"), ("OCR", "perhaps"), ("ENGINE", "an oracle"), ("KEPT", "0")]
)
def test_invalid_variable_is_reported_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"PINCITE_{name}", value)
    with pytest.raises(SettingsError, match=rf"environment.*{name.lower()}.*{value}"):
        load_settings(tmp_path)


def test_the_folder_that_was_chosen_comes_before_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_DATA_DIR", str(tmp_path / "variable"))
    assert load_settings().data_dir == tmp_path / "variable"
    assert load_settings(tmp_path / "chosen").data_dir == tmp_path / "chosen"


@given(st.sampled_from(sorted(NUMBERS)), st.one_of(st.floats(), st.floats(0, 1)))
def test_a_number_is_taken_as_it_is_or_refused(name: str, value: float) -> None:
    low, high = NUMBERS[name]
    try:
        taken = getattr(Settings(data_dir=Path("data")).but(**{name: value}), name)
    except SettingsError as error:
        assert name in str(error)
        whole = Choices.model_fields[name].annotation is int
        assert not low <= value <= high or (whole and value != int(value))
    else:
        assert low <= taken <= high and taken == value


if __name__ == "__main__":
    before, after = re.split(r"^\|[^§]*^\|.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    PAGE.write_text(f"{before}{table()}{after}", encoding="utf-8")
