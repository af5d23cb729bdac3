"""Addresses, commands and keys that a folder names: its user agrees to them before a model is asked.

A folder may come from somebody else. What a user names when work begins is remembered on this machine by its hash, and
a folder that names anything else is not gone on with before the user agrees.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import UntrustedError
from oragent._base.plain import plain
from oragent.llm.model_settings import ModelSettings

SHOWN = 120  # characters of a command or an address in a message


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


def expect_trusted(path: Path, demands: Iterable[Demand], overrides: Sequence[str] = ()) -> None:
    """See that a folder asks for nothing that its user did not name, now or when its work began on this machine.

    Args:
        path: Folder of the work.
        demands: What its settings ask for.
        overrides: Settings that the user gives now, ``section.key=value`` each.

    Raises:
        UntrustedError: it does, naming what.
    """
    named = {override.partition("=")[2].strip().strip('"') for override in overrides}
    strange = [
        demand.text
        for demand in demands
        if not (_place() / demand.digest).is_file() and (demand.is_code or not named.issuperset(demand.parts[1:]))
    ]
    if strange:
        raise UntrustedError(
            f"{path} asks for what you did not name on this machine: {'; '.join(strange)}. Look at it, then give "
            "--trust"
        )


def remember_demands(demands: Iterable[Demand]) -> None:
    """Remember what the user named; without a place to write nothing is, and the user is asked again."""
    with suppress(OSError):
        _place().mkdir(parents=True, exist_ok=True, mode=0o700)
        for demand in demands:
            (_place() / demand.digest).touch(mode=0o600)


def model_demands(models: Iterable[ModelSettings]) -> Iterator[Demand]:
    """What settings of models ask for."""
    for model in models:
        key = (model.api_key_env,) if model.api_key_env else ()
        with_key = f" with the key in {model.api_key_env}" if key else ""
        if model.command is not None:
            text = f"to run the command {shortened(model.command)}{with_key}"
            yield Demand(text, ("command", model.command, *key))
        elif model.base_url:
            yield Demand(f"to ask {shortened(model.base_url)}{with_key}", ("server", model.base_url, *key))
        elif key:
            yield Demand(f"to send the value of {model.api_key_env} to a server", ("variable", *key))


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "oragent" / "trusted"


def shortened(text: str) -> str:
    """Text of a folder for a message: plain, on one line, not long."""
    text = " ".join(plain(text).split())
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
