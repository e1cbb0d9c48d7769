"""Draw one setting as one control, from its kind, range and explanation in core.domain.settings."""

from typing import Any

import streamlit as st

from pincite.core.domain.settings import Choices, Settings, variable_of

ABOUT: dict[str, dict[str, Any]] = Choices.model_json_schema()["properties"]


def draw_setting(settings: Settings, name: str, **options: Any) -> Any:
    """Return what the control is set to; what a variable of the environment holds cannot be changed here."""
    about, value, variable = ABOUT[name], getattr(settings, name), variable_of(name)
    default = f" Default: {about['default']}." if about["default"] != "" else ""
    shared: dict[str, Any] = {"help": f"{about['description']}{default}", "disabled": bool(variable)} | options
    if variable:
        st.caption(f":material/lock: {about['title']}: set by the environment variable {variable}.")
    if "options" in shared:
        return st.selectbox(about["title"], index=shared["options"].index(value), **shared)
    if few := shared.pop("few", None):
        return st.radio(about["title"], few, few.index(value), **shared)
    if about["type"] == "boolean":
        return st.toggle(about["title"], value, **shared)
    if about["type"] == "string":
        return st.text_input(about["title"], value, **shared).strip()
    low, high = (type(value)(about[end]) for end in ("minimum", "maximum"))
    if high == 1:
        return round(st.slider(about["title"], low, high, value, **{"step": 0.01, **shared}), 2)
    return st.number_input(about["title"], low, high, value, **shared)
