"""Every setting of Pincite in one frozen value: defaults, then what the user chose, then PINCITE_* variables."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import platformdirs

from core.domain.errors import SettingsError
from core.domain.writing import write_whole
from core.text.plain import storable

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
Engine = Literal["auto", "quoting", "ollama"]
OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True)
class Settings:
    """All paths derive from ``data_dir``. Thresholds are explained in docs/confidence.md and docs/retrieval.md."""

    data_dir: Path

    engine: Engine = "auto"
    """``auto`` is Ollama when it answers and has a chat model, else quoting."""
    ollama_host: str = ""
    """Empty: OLLAMA_HOST, else http://127.0.0.1:11434."""
    ollama_model: str = ""
    """Empty: the first chat model the server has."""
    embedding_model: str = "minilm"
    """``minilm`` (built in) or ``ollama:NAME``."""

    score_floor: float = 0.60
    retry_score_floor: float = 0.55
    candidates: int = 30
    kept: int = 10
    retry_kept: int = 20
    context_characters: int = 12_000
    """Evidence budget where the engine does not say its own."""

    review_threshold: float = 0.65
    confidence_slope: float = 1.0
    """With the intercept, what was learned from the user's own reviews; 1 and 0 are as shipped."""
    confidence_intercept: float = 0.0
    max_retries: int = 2
    turn_seconds: float = 180.0
    step_limit: int = 24

    ocr: bool = True
    max_file_mib: int = 200
    max_pages: int = 20_000
    page_seconds: float = 30.0
    reader_memory_mib: int = 2048

    @property
    def database_path(self) -> Path:
        return self.data_dir / "pincite.db"

    @property
    def checkpoints_path(self) -> Path:
        return self.data_dir / "checkpoints.db"

    @property
    def vectors_dir(self) -> Path:
        return self.data_dir / "vectors"

    @property
    def files_dir(self) -> Path:
        return self.data_dir / "files"

    @property
    def models_dir(self) -> Path:
        """Weights that the user asked to fetch."""
        return self.data_dir / "models"

    @property
    def choices_path(self) -> Path:
        return self.data_dir / "settings.json"

    def __post_init__(self) -> None:
        for name, low, high in RANGES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingsError(f"The setting {name} is {value}.", hint=f"It must be between {low} and {high}.")
        if self.engine not in ("auto", "quoting", "ollama"):
            raise SettingsError(f"The setting engine is {self.engine!r}.", hint="Use auto, quoting or ollama.")
        if self.ollama_host:
            server_address(self.ollama_host)


_ADDRESS = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])?(?::(?P<port>[0-9]{1,5}))?(?P<path>/[a-z0-9._~/-]*)?",
    re.IGNORECASE,
)


def server_address(text: str) -> str:
    """The address in full, as it is connected to: scheme://host:port/path. Raises SettingsError.

    Names of users, as in http://127.0.0.1@elsewhere, are refused: they make an address look like another.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if not found or not (found["host"] or found["port"]):
        raise SettingsError(
            f"The address of Ollama, {text!r}, is not one.", hint="It looks like http://127.0.0.1:11434."
        )
    scheme = (found["scheme"] or "http").lower()
    standard = {"http": 80, "https": 443}[scheme] if found["scheme"] else OLLAMA_PORT
    port = int(found["port"] or standard)
    if not 1 <= port <= 65535:
        raise SettingsError(f"The address of Ollama, {text!r}, names no port.", hint="Ports go from 1 to 65535.")
    return f"{scheme}://{(found['host'] or '127.0.0.1').lower()}:{port}{(found['path'] or '').rstrip('/')}"


RANGES: tuple[tuple[str, float, float], ...] = (
    ("score_floor", 0, 1),
    ("retry_score_floor", 0, 1),
    ("candidates", 5, 200),
    ("kept", 1, 50),
    ("retry_kept", 1, 100),
    ("context_characters", 1_000, 1_000_000),
    ("review_threshold", 0, 1),
    ("confidence_slope", 0, 10),
    ("confidence_intercept", -20, 20),
    ("max_retries", 0, 5),
    ("turn_seconds", 5, 3600),
    ("step_limit", 8, 100),
    ("max_file_mib", 1, 4096),
    ("max_pages", 1, 1_000_000),
    ("page_seconds", 1, 600),
    ("reader_memory_mib", 256, 65_536),
)


def default_data_dir() -> Path:
    """``data/`` of a checkout, else the platform's folder for user data."""
    if (PACKAGE_ROOT / "pyproject.toml").exists():
        return PACKAGE_ROOT / "data"
    return Path(platformdirs.user_data_dir("pincite", appauthor=False))


def find_data_dir(chosen: Path | None = None) -> Path:
    """As chosen, else by PINCITE_DATA_DIR, else the default."""
    directory = chosen or Path(os.environ.get("PINCITE_DATA_DIR") or default_data_dir())
    return directory.expanduser().resolve()


def load_settings(data_dir: Path | None = None) -> Settings:
    """Raises SettingsError when a stored choice or a variable has a value that cannot work."""
    settings = Settings(data_dir=find_data_dir(data_dir))
    settings = _apply(settings, _stored_choices(settings.choices_path), origin=str(settings.choices_path))
    names = [field.name for field in fields(Settings) if field.name != "data_dir"]
    variables = {
        name: os.environ[f"PINCITE_{name.upper()}"] for name in names if f"PINCITE_{name.upper()}" in os.environ
    }
    return _apply(settings, variables, origin="the environment")


def save_choices(data_dir: Path, values: Mapping[str, Any]) -> None:
    """Keep these choices beside those made before, whole or not at all; defaults are not written.

    What a variable sets holds for as long as it is set, and is no choice. Raises SettingsError.
    """
    defaults = Settings(data_dir=data_dir)
    stored = _stored_choices(defaults.choices_path) | dict(values)
    chosen = {name: value for name, value in stored.items() if value != getattr(defaults, name, None)}
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        write_whole(defaults.choices_path, json.dumps(chosen, indent=2))
    except OSError as error:
        raise SettingsError(
            f"The settings could not be kept ({error.strerror}); those before hold.",
            hint="Check that the disk has space and that the folder can be written to.",
        ) from error


def _stored_choices(path: Path) -> dict[str, Any]:
    try:
        chosen = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read ({error}).", hint="Mend or delete it.") from error
    if not isinstance(chosen, dict):
        raise SettingsError(f"{path} does not hold settings.", hint="Mend or delete it.")
    return chosen


def _apply(settings: Settings, values: dict[str, Any], *, origin: str) -> Settings:
    kinds = {field.name: type(getattr(settings, field.name)) for field in fields(Settings) if field.name != "data_dir"}
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if name not in kinds:
            raise SettingsError(f"{origin} names an unknown setting, {name!r}.", hint="Remove it.")
        changed[name] = _convert(name, value, kinds[name], origin)
    return replace(settings, **changed)


def _convert(name: str, value: Any, kind: type[Any], origin: str) -> Any:
    if kind is bool and isinstance(value, str):
        if value.lower() not in ("1", "0", "true", "false", "yes", "no", "on", "off"):
            raise SettingsError(f"{origin} sets {name} to {value!r}.", hint="Use true or false.")
        return value.lower() in ("1", "true", "yes", "on")
    try:
        if (kind is str and storable(value) != value) or (kind is bool and value not in (True, False)):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SettingsError(
            f"{origin} sets {name} to {repr(value)[:100]}.", hint=f"It must be a {kind.__name__}."
        ) from error
