"""Every setting, each with its range and explanation: defaults, then what the user chose, then PINCITE_* variables."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.writing import write_whole

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
VARIABLES = "PINCITE_"
OLLAMA_PORT = 11434
RETIRED = frozenset({"retry_score_floor", "retry_kept", "promised_risk", "confidence_slope", "confidence_intercept"})
"""Settings of earlier versions, which a file of choices may still name."""
EngineName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*(:\S+)?$")]
Storable = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class Choices(BaseModel):
    """What can be chosen on the settings page, or set by a variable: PINCITE_ and the name in capitals."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    engine: EngineName = Field(
        default="auto",
        title="Answer engine",
        description="`auto` uses Ollama if it has a chat model of a billion parameters or more, otherwise quoting: "
        "sentences from the documents, word for word. `PROVIDER:MODEL` selects one model.",
    )
    ollama_host: Storable = Field(
        default="", title="Ollama address", description="If empty: OLLAMA_HOST, or else http://127.0.0.1:11434."
    )
    ollama_model: Storable = Field(
        default="", title="Model", description="If empty, the first chat model on the server is used."
    )
    openai_address: Storable = Field(
        default="",
        title="Address of an OpenAI-compatible server",
        description="As given in its documentation, such as http://127.0.0.1:8000/v1. If empty, none is used. Its key "
        "is kept in this machine's keyring, or in the variable PINCITE_OPENAI_KEY.",
    )
    openai_model: Storable = Field(
        default="", title="Model on that server", description="If empty, the server's first model is used."
    )
    embedding_model: Storable = Field(
        default="minilm",
        title="Embedding model",
        description="`minilm` for English or `e5` for other languages too (both built in), `ollama:NAME` or "
        "`openai:NAME`. Changing it builds a new index beside the old one.",
    )
    embedding_address: Storable = Field(
        default="",
        title="Separate address for embeddings",
        description="For an embedding model that runs on a different server from the chat model. If empty, the same "
        "server is used. Its key is in the keyring, or in the variable PINCITE_EMBEDDING_KEY.",
    )
    allowed_addresses: Storable = Field(
        default="",
        title="Allowed addresses",
        description="Full addresses of servers on other machines that questions and passages may be sent to, separated "
        "by spaces. Nothing is sent to any other.",
    )

    score_floor: float = Field(
        default=0,
        ge=0,
        le=1,
        title="Score floor",
        description="Passages that score lower are not used. 0: the reranker's own floor (built-in: 0.60). Higher: "
        "fewer, more certain passages, and more questions go unanswered. A retry goes a little lower.",
    )
    candidates: int = Field(
        default=30,
        ge=5,
        le=200,
        title="Candidates",
        description="How many passages each ranking passes on. More is slower.",
    )
    kept: int = Field(
        default=10,
        ge=1,
        le=50,
        title="Passages kept",
        description="At most this many are used for an answer, twice as many in a retry.",
    )
    context_characters: int = Field(
        default=12_000,
        ge=1_000,
        le=1_000_000,
        title="Characters of evidence",
        description="Room for passages when the model does not state its own limit.",
    )

    review_threshold: float = Field(
        default=0.35,
        ge=0,
        le=1,
        title="Review threshold",
        description="Answers with less confidence go to review. Higher: more answers wait, fewer wrong ones pass. "
        "Lists of passages are not affected.",
    )
    max_retries: int = Field(
        default=2, ge=0, le=5, title="Retries", description="How many times a draft that failed its checks is retried."
    )
    turn_seconds: float = Field(
        default=180.0,
        ge=5,
        le=3600,
        title="Time limit for one answer (seconds)",
        description="When the time is up, the best draft so far goes to review.",
    )

    citation_style: Storable = Field(
        default="plain",
        title="Citation style of exports",
        description="How a page is cited in a binder or a Word document: plain (the file's name and page), the name of "
        "a style of citationstyles.org, such as oscola or apa, or the path of a .csl file.",
    )

    picture_model: Storable = Field(
        default="",
        title="Model that describes figures",
        description="Such as ollama:qwen2.5vl. Empty: the model that writes the answers.",
    )
    describe_figures: bool = Field(
        default=False,
        title="Describe figures when documents are read",
        description="A model that sees pictures describes every figure. Off: only those that you ask for.",
    )

    offer_reranker: bool = Field(
        default=True,
        title="Offer FlashRank",
        description="Whether an empty library offers to download the weights of a better reranker.",
    )
    ocr: bool = Field(
        default=True,
        title="Recognise scanned pages (OCR)",
        description="Pages without usable text are recognised on this machine.",
    )
    web_pages: bool = Field(
        default=True,
        title="Add web pages by their address",
        description="A page is fetched once, when you enter its address. Off: nothing is fetched.",
    )
    automatic_backups: bool = Field(
        default=True,
        title="Back up every day",
        description="A copy of the library's database, without the PDFs, in the folder `backups`; three are kept.",
    )
    max_file_mib: int = Field(
        default=200, ge=1, le=4096, title="Largest file (MiB)", description="Larger files are refused."
    )
    max_pages: int = Field(
        default=20_000, ge=1, le=1_000_000, title="Most pages in a file", description="Longer files are refused."
    )
    page_seconds: float = Field(
        default=30.0,
        ge=1,
        le=600,
        title="Time limit for one page (seconds)",
        description="A page that takes longer is marked as failed, and reading continues.",
    )
    reader_memory_mib: int = Field(
        default=2048,
        ge=256,
        le=65_536,
        title="Memory limit for the reader (MiB)",
        description="A file that needs more fails; others are not affected.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            checked = handler(values)
        except ValidationError as error:
            raise _settings_error(error) from error
        for address in (checked.ollama_host, checked.openai_address, checked.embedding_address):
            if address:
                server_address(address)
        return checked


class Settings(Choices):
    """What holds for one data directory; all its paths derive from ``data_dir``."""

    data_dir: Path
    database_url: str = Field(default_factory=lambda: os.environ.get(f"{VARIABLES}DATABASE_URL", ""), repr=False)
    """Address of a PostgreSQL database; empty: SQLite in ``data_dir``."""
    shared_files: str = Field(default_factory=lambda: os.environ.get(f"{VARIABLES}FILES", ""))
    """Folder of the documents' files, or address of a bucket, ``s3://name/prefix``; empty: in ``data_dir``."""

    admins: str = Field(default_factory=lambda: os.environ.get(f"{VARIABLES}ADMINS", ""))
    """E-mail addresses of the first admins, separated by spaces; empty: there are no accounts."""
    trusts_email: bool = Field(default_factory=lambda: os.environ.get(f"{VARIABLES}OIDC_TRUST_EMAIL", "") == "1")
    """Whether an e-mail address counts where the identity provider does not say that it is verified."""

    role: Literal["all", "app"] = "all"
    """What the app does: everything, or no work in the background, which `pincite worker` then does."""

    def but(self, **values: Any) -> "Settings":
        """Return the same with other values. Raises SettingsError."""
        return Settings(**dict(self) | values)

    def may_send(self, address: str) -> bool:
        """To this machine always (also to no address), elsewhere once it was allowed."""
        return not address or is_this_machine(address) or address in self.allowed_addresses.split()

    @property
    def servers(self) -> tuple[str, ...]:
        """Everything that decides which server is asked to embed."""
        return self.ollama_host, self.openai_address, self.embedding_address, self.allowed_addresses

    @property
    def database_path(self) -> Path:
        return self.data_dir / "pincite.db"

    @property
    def checkpoints_path(self) -> Path:
        return self.data_dir / "checkpoints.db"

    @property
    def bucket(self) -> str:
        """Address of the object store with the documents' files; empty: they are in ``files_dir``."""
        return self.shared_files if "://" in self.shared_files else ""

    @property
    def files_dir(self) -> Path:
        shared = self.shared_files and not self.bucket
        return Path(self.shared_files).expanduser().resolve() if shared else self.data_dir / "files"

    @property
    def models_dir(self) -> Path:
        """Weights that the user asked to fetch."""
        return self.data_dir / "models"

    @property
    def choices_path(self) -> Path:
        return self.data_dir / "settings.json"


class _InForce(BaseSettings, Choices):
    """The choices that are given, and the variables of the environment, which come before them."""

    model_config = SettingsConfigDict(env_prefix=VARIABLES)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def variable_of(name: str) -> str:
    """Return the variable that sets this and is set now, else nothing."""
    variable = f"{VARIABLES}{name.upper()}"
    return variable if variable in os.environ else ""


def _settings_error(error: ValidationError) -> SettingsError:
    [wrong, *_] = error.errors(include_url=False)
    name = str(wrong["loc"][0]) if wrong["loc"] else "at all"
    if wrong["type"] == "extra_forbidden":
        return SettingsError(f"There is no setting {name!r}.", hint="Remove it.")
    pattern = wrong["type"] == "string_pattern_mismatch"
    hint = str(Settings.model_fields[name].description) if pattern else f"{wrong['msg']}."
    return SettingsError(f"The setting {name} cannot be {repr(wrong['input'])[:100]}.", hint=hint)


_ADDRESS = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])?(?::(?P<port>[0-9]{1,5}))?(?P<path>/[a-z0-9._~/-]*)?",
    re.IGNORECASE,
)


def server_address(text: str) -> str:
    """Return the address in full, as it is connected to: scheme://host:port/path. Raises SettingsError.

    Names of users, as in http://127.0.0.1@elsewhere, are refused: they make an address look like another.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if not found or not (found["host"] or found["port"]):
        raise SettingsError(
            f"{text!r} is not the address of a model server.", hint="An address looks like http://127.0.0.1:11434."
        )
    scheme = (found["scheme"] or "http").lower()
    standard = {"http": 80, "https": 443}[scheme] if found["scheme"] else OLLAMA_PORT
    port = int(found["port"] or standard)
    if not 1 <= port <= 65535:
        raise SettingsError(f"The model server address {text!r} has no valid port.", hint="Ports go from 1 to 65535.")
    return f"{scheme}://{(found['host'] or '127.0.0.1').lower()}:{port}{(found['path'] or '').rstrip('/')}"


def is_this_machine(address: str) -> bool:
    name = urlsplit(address).hostname or ""
    return name in ("localhost", "::1", "0.0.0.0", "::") or re.fullmatch(r"127(?:\.\d{1,3}){3}", name) is not None


def default_data_dir() -> Path:
    """``data/`` of a checkout, else the platform's folder for user data."""
    if (PACKAGE_ROOT / "pyproject.toml").exists():
        return PACKAGE_ROOT / "data"
    return Path(platformdirs.user_data_dir("pincite", appauthor=False))


def find_data_dir(chosen: Path | None = None) -> Path:
    """As chosen, else by PINCITE_DATA_DIR, else the default."""
    directory = chosen or Path(os.environ.get(f"{VARIABLES}DATA_DIR") or default_data_dir())
    return directory.expanduser().resolve()


def load_settings(data_dir: Path | None = None) -> Settings:
    """Raises SettingsError when a stored choice or a variable has a value that cannot work."""
    directory = find_data_dir(data_dir)
    path = Settings(data_dir=directory).choices_path
    stored, origin = _stored_choices(path), str(path)
    try:
        Choices(**stored)
        origin = "The environment"
        role: dict[str, Any] = {"role": os.environ.get(f"{VARIABLES}ROLE", "all")}
        return Settings(data_dir=directory, **role, **dict(_InForce(**stored)))
    except SettingsError as error:
        raise SettingsError(f"{origin} cannot be used: {error.message}", hint=error.hint) from error


def save_choices(data_dir: Path, values: Mapping[str, Any]) -> None:
    """Save these choices with those made before, whole or not at all; defaults are not written.

    What a variable sets holds for as long as it is set, and is no choice. Raises SettingsError.
    """
    path = Settings(data_dir=data_dir).choices_path
    chosen = Choices(**_stored_choices(path) | dict(values))
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        write_whole(path, chosen.model_dump_json(indent=2, exclude_defaults=True))
    except OSError as error:
        raise SettingsError(
            f"The settings could not be saved ({error.strerror}). The previous ones still apply.",
            hint="Check that the disk has space and that the folder can be written to.",
        ) from error


def _stored_choices(path: Path) -> dict[str, Any]:
    try:
        chosen = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read ({error}).", hint="Correct or delete it.") from error
    if not isinstance(chosen, dict):
        raise SettingsError(f"{path} does not contain settings.", hint="Correct or delete it.")
    return {name: value for name, value in chosen.items() if name not in RETIRED}
