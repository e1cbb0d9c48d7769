"""Values to JSON and back, by their types; the one place where stored JSON becomes a value again."""

import struct
import zlib
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pydantic import TypeAdapter

from pincite.core.errors import DamagedDatabaseError

Given = ParamSpec("Given")
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


def decoding(what: str) -> Callable[[Callable[Given, Value]], Callable[Given, Value]]:
    """Make a function that decodes stored values raise DamagedDatabaseError where they cannot be."""

    def wrap(decode: Callable[Given, Value]) -> Callable[Given, Value]:
        @wraps(decode)
        def decoded(*given: Given.args, **named: Given.kwargs) -> Value:
            try:
                return decode(*given, **named)
            except (ValueError, TypeError, KeyError, IndexError, zlib.error, struct.error) as error:
                hint = "`pincite verify` says which, `pincite repair` mends what it can."
                raise DamagedDatabaseError(f"{what} is stored damaged.", hint=hint) from error

        return decoded

    return wrap
