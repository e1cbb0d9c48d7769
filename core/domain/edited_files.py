"""Files that people edit: TOML in folders, read one by one so that a mistake in one costs no other."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

Content = TypeVar("Content")


def read_edited(kind: type[Content], folders: tuple[Path, ...], problems: list[str]) -> Iterator[tuple[Path, Content]]:
    """Yield every file of the folders in the order of their names; add those that cannot be used to ``problems``."""
    for path in (path for folder in dict.fromkeys(folders) for path in sorted(folder.glob("*.toml"))):
        try:
            with path.open("rb") as file:
                written = tomllib.load(file)
            content = TypeAdapter(kind).validate_python(written)
        except ValidationError as error:
            first = error.errors()[0]
            problems.append(f"{path} is not used: {'.'.join(map(str, first['loc']))}: {first['msg']}.")
        except (OSError, ValueError) as error:
            problems.append(f"{path} is not used: {error}.")
        else:
            yield path, content
