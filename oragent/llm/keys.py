"""Removal of keys from the environment, and consent to demands of a folder before a model is used.

Each key is given only to the server for which it was set. A folder may come from another person. The addresses,
commands and keys that a user names when work begins are stored on this machine as hashes, and a folder with others is
not continued until the user agrees.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from oragent._base.errors import ModelError, UntrustedError
from oragent._base.text_format import escape_text
from oragent.llm.endpoint import OPENAI_URL
from oragent.llm.model_settings import ModelSettings

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
PORTS = {"http": 80, "https": 443}
NO_KEY = SecretStr("")


# Maximum number of characters of a command or an address in a message.
SHOWN = 120


class _HiddenKeys:
    """Keys that are removed from the environment, with the number of blocks that use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[str, int] = {}
        self._keys: dict[str, SecretStr] = {}

    def take(self, name: str) -> SecretStr:
        with self._lock:
            self._users[name] = self._users.get(name, 0) + 1
            # This also removes a key that was set since.
            if name in os.environ:
                self._keys[name] = SecretStr(os.environ.pop(name))
            return self._keys.get(name, NO_KEY)

    def give_back(self, name: str) -> None:
        with self._lock:
            self._users[name] -= 1
            if self._users[name] == 0 and name in self._keys:
                os.environ.setdefault(name, self._keys.pop(name).get_secret_value())


_HIDDEN = _HiddenKeys()


def url_origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of an address, which identify the server of a key."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        # The port is not a number. The client reports this error.
        port = None
    return parts.scheme, (parts.hostname or "").rstrip("."), port or PORTS.get(parts.scheme)


def server_address(model: ModelSettings) -> str:
    """Return the address of a model's server; empty for a command."""
    if model.command is not None:
        return ""
    return model.base_url or os.environ.get(ADDRESS) or OPENAI_URL


@dataclass(frozen=True)
class Keys:
    """Available keys."""

    # Keys by the name of their environment variable.
    by_variable: Mapping[str, SecretStr] = field(default_factory=dict)

    def key_for(self, model: ModelSettings) -> SecretStr:
        """Return the key for a model's server; empty if none was set for it."""
        address = server_address(model)
        if model.key_command:
            return NO_KEY
        if model.api_key_env:
            key = self.by_variable.get(model.api_key_env, NO_KEY)
            if not key.get_secret_value().strip():
                raise ModelError(
                    f"{model.api_key_env} is not set: model {model.name!r} names it as the variable that holds the key "
                    f"of {address}"
                )
            return key
        standard = os.environ.get(ADDRESS) or OPENAI_URL
        if url_origin(address) == url_origin(standard):
            return self.by_variable.get(KEY, NO_KEY)
        return NO_KEY


@contextmanager
def hide_keys(names: Iterable[str] = ()) -> Iterator[Keys]:
    """Remove keys from the environment within a block, so that no child process inherits them.

    Blocks may be nested and entered from any thread. All of them receive the keys, and the last one restores them.
    """
    variables = list(dict.fromkeys([KEY, *names]))
    try:
        yield Keys({name: _HIDDEN.take(name) for name in variables})
    finally:
        for name in variables:
            _HIDDEN.give_back(name)


@contextmanager
def hide_key() -> Iterator[SecretStr]:
    """Do the same with ``OPENAI_API_KEY`` only. Yield an empty key if it is not set."""
    with hide_keys() as keys:
        yield keys.by_variable[KEY]


@dataclass(frozen=True)
class Demand:
    """Command, address or key that a configuration uses."""

    # Phrase for the user.
    text: str
    # Values that identify it.
    parts: tuple[str, ...]
    # True if the last part is the text of a program, which no setting of the command line can name.
    is_code: bool = False

    @property
    def digest(self) -> str:
        """Name of its file on this machine."""
        return hashlib.sha256("\0".join(self.parts).encode("utf-8", "replace")).hexdigest()


def expect_trusted(path: Path, demands: Iterable[Demand], overrides: Sequence[str] = ()) -> None:
    """Check that a folder demands only what its user named, now or when its work began on this machine.

    Raises:
        UntrustedError: It has other demands, which the message lists.
    """
    named = {override.partition("=")[2].strip().strip('"') for override in overrides}
    strange = [
        demand.text
        for demand in demands
        if not (_trust_folder() / demand.digest).is_file()
        and (demand.is_code or not named.issuperset(demand.parts[1:]))
    ]
    if strange:
        raise UntrustedError(
            f"{path} demands what you did not name on this machine: {'; '.join(strange)}. Check it, then add --trust"
        )


def remember_demands(demands: Iterable[Demand]) -> None:
    """Store demands as trusted. If the folder cannot be written, the user is asked again next time."""
    with suppress(OSError):
        _trust_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        for demand in demands:
            (_trust_folder() / demand.digest).touch(mode=0o600)


def model_demands(models: Iterable[ModelSettings]) -> Iterator[Demand]:
    """Yield the demands of models' settings."""
    for model in models:
        key = tuple(model.variables)
        with_key = f" with the key in {', '.join(key)}" if key else ""
        if model.key_command is not None:
            yield Demand(f"to run the command {quote_shortened(model.key_command)}", ("command", model.key_command))
        if model.command is not None:
            text = f"to run the command {quote_shortened(model.command)}{with_key}"
            yield Demand(text, ("command", model.command, *key))
        elif model.base_url:
            yield Demand(f"to ask {quote_shortened(model.base_url)}{with_key}", ("server", model.base_url, *key))
        elif key:
            yield Demand(f"to send the value of {', '.join(key)} to a server", ("variable", *key))


def _trust_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "oragent" / "trusted"


def quote_shortened(text: str) -> str:
    """Quote text of a folder for a message: escaped, on one line, and shortened."""
    text = " ".join(escape_text(text).split())
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
