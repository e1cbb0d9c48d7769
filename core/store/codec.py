"""Values to JSON and back, by their types; the one place where stored JSON becomes a value again."""

from typing import Any, TypeVar

from pydantic import TypeAdapter

Value = TypeVar("Value")
_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(value: Any, kind: Any = None) -> str:
    """``kind`` is the declared type where the value's own class does not tell, such as ``tuple[Citation, ...]``."""
    return _adapter(kind or type(value)).dump_json(value).decode()


def to_plain(value: Any, kind: Any = None) -> Any:
    """The value as JSON-ready dicts, lists, strings and numbers."""
    return _adapter(kind or type(value)).dump_python(value, mode="json")


def from_json(kind: type[Value], text: str | bytes) -> Value:
    """Raises pydantic.ValidationError when the text does not describe a ``kind``."""
    value: Value = _adapter(kind).validate_json(text)
    return value
