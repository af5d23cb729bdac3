"""Keep API keys out of the environment, and give each only to the server that it was set for."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import SecretStr

from oragent._base.errors import ModelError
from oragent.llm.endpoint import OPENAI_URL
from oragent.llm.model_settings import ModelSettings

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
PORTS = {"http": 80, "https": 443}
NO_KEY = SecretStr("")


def url_origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of an address, which identify the server of a key."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # no number; the client reports it
        port = None
    return parts.scheme, (parts.hostname or "").rstrip("."), port or PORTS.get(parts.scheme)


def server_address(model: ModelSettings) -> str:
    """Return the address of a model's server; empty if the model is a command."""
    return "" if model.command is not None else model.base_url or os.environ.get(ADDRESS) or OPENAI_URL


@dataclass(frozen=True)
class Keys:
    """Available keys."""

    by_variable: Mapping[str, SecretStr] = field(default_factory=dict)  # keys by the name of their environment variable

    def key_for(self, model: ModelSettings) -> SecretStr:
        """Return the key for a model's server; empty if none was set for it.

        Raises:
            ModelError: The model names a variable that is not set.
        """
        address = server_address(model)
        if model.api_key_env:
            key = self.by_variable.get(model.api_key_env, NO_KEY)
            if not key.get_secret_value().strip():
                raise ModelError(
                    f"{model.api_key_env} is not set: model {model.name!r} names it as the variable that holds the key "
                    f"of {address}"
                )
            return key
        standard = os.environ.get(ADDRESS) or OPENAI_URL
        return self.by_variable.get(KEY, NO_KEY) if url_origin(address) == url_origin(standard) else NO_KEY


@contextmanager
def hide_keys(names: Iterable[str] = ()) -> Iterator[Keys]:
    """Remove keys from the environment within a block, so that no child process inherits them.

    The block may be entered several times at once, from any thread: all get the keys, and the last one restores them.

    Args:
        names: Variables besides ``OPENAI_API_KEY``.

    Yields:
        The keys.
    """
    variables = list(dict.fromkeys([KEY, *names]))
    try:
        yield Keys({name: _HIDDEN.take(name) for name in variables})
    finally:
        for name in variables:
            _HIDDEN.give_back(name)


@contextmanager
def hide_key() -> Iterator[SecretStr]:
    """Do the same with ``OPENAI_API_KEY`` alone; yields an empty key if there is none."""
    with hide_keys() as keys:
        yield keys.by_variable[KEY]


class _HiddenKeys:
    """Keys that are removed from the environment, with the number of blocks that use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[str, int] = {}
        self._keys: dict[str, SecretStr] = {}

    def take(self, name: str) -> SecretStr:
        with self._lock:
            self._users[name] = self._users.get(name, 0) + 1
            if name in os.environ:  # also one that was set since
                self._keys[name] = SecretStr(os.environ.pop(name))
            return self._keys.get(name, NO_KEY)

    def give_back(self, name: str) -> None:
        with self._lock:
            self._users[name] -= 1
            if self._users[name] == 0 and name in self._keys:
                os.environ.setdefault(name, self._keys.pop(name).get_secret_value())


_HIDDEN = _HiddenKeys()
