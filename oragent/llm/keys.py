"""Keys of servers: taken out of the environment, and each handed to the server that it was set for and to no other."""

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


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address: what a key is set for."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # no number: no server has it, and the client says so
        port = None
    return parts.scheme, (parts.hostname or "").rstrip("."), port or PORTS.get(parts.scheme)


def address(model: ModelSettings) -> str:
    """The address of a model's server; empty where it is a command."""
    return "" if model.command is not None else model.base_url or os.environ.get(ADDRESS) or OPENAI_URL


@dataclass(frozen=True)
class Keys:
    """The keys that are at hand.

    Attributes:
        held: Keys by the name of their environment variable; a missing one is not set.
    """

    held: Mapping[str, SecretStr] = field(default_factory=dict)

    def of(self, model: ModelSettings) -> SecretStr:
        """The key for a model's server; empty where none was set for it.

        Raises:
            ModelError: the model names a variable that is not set.
        """
        place = address(model)
        if model.api_key_env:
            key = self.held.get(model.api_key_env, NO_KEY)
            if not key.get_secret_value().strip():
                raise ModelError(
                    f"{model.api_key_env} is not set: model {model.name!r} names it as the variable that holds the key "
                    f"of {place}"
                )
            return key
        standard = os.environ.get(ADDRESS) or OPENAI_URL
        return self.held.get(KEY, NO_KEY) if origin(place) == origin(standard) else NO_KEY


@contextmanager
def taken_keys(names: Iterable[str] = ()) -> Iterator[Keys]:
    """The keys of the environment, which lacks them within, so that no child process inherits one.

    It may be entered several times at once, from any thread: all get the keys, and the last to leave puts them back.

    Args:
        names: Variables beside ``OPENAI_API_KEY``.
    """
    wanted = list(dict.fromkeys([KEY, *names]))
    try:
        yield Keys({name: _SAFE.take(name) for name in wanted})
    finally:
        for name in wanted:
            _SAFE.give_back(name)


@contextmanager
def taken_key() -> Iterator[SecretStr]:
    """The key in ``OPENAI_API_KEY``, likewise; empty where there is none."""
    with taken_keys() as keys:
        yield keys.held[KEY]


class _Safe:
    """Holds keys while they are out of the environment."""

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


_SAFE = _Safe()
