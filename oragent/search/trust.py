"""What a run's folder would have the engine do that its user never asked for: run code, send keys, connect.

A folder may come from somebody else. What a user names when a run begins is remembered on this machine by its hash, and
a folder that names anything else is not gone on with before the user agrees.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import UntrustedError
from oragent._base.plain import plain
from oragent.search.config import Config

SHOWN = 120  # characters of a command or an address in a message
MOST_BYTES = 1 << 20  # of a strategy's file


@dataclass(frozen=True)
class Demand:
    """One thing that a configuration asks for.

    Attributes:
        text: Phrase for a person.
        parts: Values that it consists of, by which it is remembered.
        is_code: Whether the last part is the text of a program, which no setting on a command line can name.
    """

    text: str
    parts: tuple[str, ...]
    is_code: bool = False

    @property
    def digest(self) -> str:
        """Name under which it is remembered."""
        return hashlib.sha256("\0".join(self.parts).encode("utf-8", "replace")).hexdigest()


def expect_trust(path: Path, config: Config, overrides: Sequence[str] = ()) -> None:
    """See that a folder asks for nothing that its user did not name, now or when a run began on this machine.

    Args:
        path: Folder of the run.
        config: Its configuration.
        overrides: Settings that the user gives now, ``section.key=value`` each.

    Raises:
        UntrustedError: it does, naming what.
    """
    named = {override.partition("=")[2].strip() for override in overrides}
    strange = [
        demand.text
        for demand in _list_demands(config)
        if not (_trust_file() / demand.digest).is_file() and (demand.is_code or not named.issuperset(demand.parts[1:]))
    ]
    if strange:
        raise UntrustedError(
            f"{path} asks for what you did not name on this machine: {'; '.join(strange)}. Look at it, then give "
            "--trust"
        )


def remember_demands(config: Config) -> None:
    """Remember what the user named; without a place to write nothing is, and the user is asked again."""
    with suppress(OSError):
        _trust_file().mkdir(parents=True, exist_ok=True, mode=0o700)
        for demand in _list_demands(config):
            (_trust_file() / demand.digest).touch(mode=0o600)


def _trust_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "oragent" / "trusted"


def _list_demands(config: Config) -> Iterator[Demand]:
    file = config.strategy.file or (config.strategy.name if config.strategy.name.endswith(".py") else None)
    if file:
        text = ""
        with suppress(OSError), Path(file).open("rb") as source:
            text = hashlib.sha256(source.read(MOST_BYTES)).hexdigest()
        yield Demand(f"to run the code in {_printable(file)}", ("strategy", text), is_code=True)
    if config.cluster and not config.cluster.startswith("local"):
        yield Demand(f"to use the cluster {_printable(config.cluster)}", ("cluster", config.cluster))
    for model in filter(None, (config.model, *config.models.values(), *config.ensemble)):
        key = (model.api_key_env,) if model.api_key_env else ()
        with_key = f" with the key in {model.api_key_env}" if key else ""
        if model.command is not None:
            text = f"to run the command {_printable(model.command)}{with_key}"
            yield Demand(text, ("command", model.command, *key))
        elif model.base_url:
            yield Demand(f"to ask {_printable(model.base_url)}{with_key}", ("server", model.base_url, *key))
        elif key:
            yield Demand(f"to send the value of {model.api_key_env} to a server", ("variable", *key))


def _printable(text: str) -> str:
    text = " ".join(plain(text).split())
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
