"""Keys of model servers: in the keyring of the operating system or in the environment, and nowhere else."""

import os
from contextlib import suppress

from pincite.core.domain.errors import SettingsError

SERVICE = "pincite"
CHAT_KEY, EMBEDDING_KEY = "PINCITE_OPENAI_KEY", "PINCITE_EMBEDDING_KEY"
"""Variables, which come before the keyring; each is sent to the address of its own purpose alone."""
RECOMMENDED = 1
"""Keyrings of a lower priority keep what they are given in clear."""


def key_for(address: str, variable: str) -> str:
    """Empty: there is none."""
    if key := os.environ.get(variable, "").strip():
        return key
    import keyring
    from keyring.errors import KeyringError

    with suppress(KeyringError, RuntimeError):
        if _is_safe():
            return keyring.get_password(SERVICE, address) or ""
    return ""


def keep_key(address: str, key: str) -> None:
    """Put it into the keyring; an empty one takes it out. Raises SettingsError, and then nothing is kept."""
    import keyring
    from keyring.errors import KeyringError

    try:
        if not _is_safe():
            raise SettingsError(
                "This machine has no keyring, and a key is not written to a file.",
                hint=f"Set the variable {CHAT_KEY} before Pincite is started.",
            )
        if key:
            keyring.set_password(SERVICE, address, key)
        elif keyring.get_password(SERVICE, address) is not None:
            keyring.delete_password(SERVICE, address)
    except (KeyringError, RuntimeError) as error:
        raise SettingsError(
            "This machine's keyring did not accept the key.",
            hint=f"Unlock it and try again, or set the variable {CHAT_KEY} before Pincite is started.",
        ) from error


def _is_safe() -> bool:
    import keyring

    return float(keyring.get_keyring().priority) >= RECOMMENDED
