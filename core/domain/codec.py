"""Values to JSON and back, by their types; the one place where stored JSON becomes a value again."""

import json
import re
import struct
import zlib
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError
from pydantic_core import from_json as parsed

from pincite.core.domain.errors import DamagedDatabaseError, StorageError

Given = ParamSpec("Given")
Value = TypeVar("Value")
UNDECODABLE = (ValueError, TypeError, KeyError, IndexError, zlib.error, struct.error)
"""Exceptions that decoding a damaged value raises."""
_adapters: dict[Any, TypeAdapter[Any]] = {}
_PERHAPS_NOT_FINITE = re.compile(r"NaN|Infinity|[eE]\+?[0-9]{3}")


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(value: Any, kind: Any = None) -> str:
    """Return the value as JSON; ``kind`` is its type if its class is not enough, such as ``tuple[Citation, ...]``.

    Raises StorageError for what could not be read again, such as a score that is NaN or a broken character.
    """
    declared = kind or type(value)
    try:
        text = _adapter(declared).dump_json(value).decode()
        from_json(declared, text)
    except (PydanticSerializationError, ValueError) as error:
        raise StorageError(
            f"A {getattr(declared, '__name__', 'value').lower()} could not be stored: a figure or a character in it is "
            "broken.",
            hint="Run the question again, or run it with quoting.",
        ) from error
    return text


def storable_as_json(value: Any) -> bool:
    """Return whether a value, whatever it is, can be stored and read again."""
    try:
        to_json(value, Any)
    except StorageError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Return the value as JSON-ready dicts, lists, strings and numbers."""
    return _adapter(type(value)).dump_python(value, mode="json")


def from_json(kind: type[Value], text: str | bytes) -> Value:
    """Raises ValueError when the text does not describe a ``kind`` with finite figures."""
    value: Value = _adapter(kind).validate_json(text)
    if isinstance(text, str) and _PERHAPS_NOT_FINITE.search(text):
        json.dumps(parsed(text, allow_inf_nan=False), allow_nan=False)
    return value


def decoding(what: str) -> Callable[[Callable[Given, Value]], Callable[Given, Value]]:
    """Make a function that decodes stored values raise DamagedDatabaseError where they cannot be."""

    def wrap(decode: Callable[Given, Value]) -> Callable[Given, Value]:
        @wraps(decode)
        def decoded(*given: Given.args, **named: Given.kwargs) -> Value:
            try:
                return decode(*given, **named)
            except UNDECODABLE as error:
                hint = "Run `pincite verify` to see which, and `pincite repair` to fix what can be fixed."
                raise DamagedDatabaseError(f"{what} is damaged in the library.", hint=hint) from error

        return decoded

    return wrap


def readable(kind: type[Value], text: str | bytes) -> Value | None:
    """None where the text does not describe a ``kind``: what is stored may be damaged, and the rest is shown."""
    try:
        return from_json(kind, text)
    except ValueError:
        return None
