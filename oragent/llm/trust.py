"""Require consent to the addresses, commands and keys that a folder names, before a model is used.

A folder may come from another person. The demands that a user names when work begins are stored on this machine by
hash. A folder with other demands is not continued until the user agrees.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import UntrustedError
from oragent._base.plain import escape_text
from oragent.llm.model_settings import ModelSettings

SHOWN = 120  # characters of a command or an address in a message


@dataclass(frozen=True)
class Demand:
    """Command, address or key that a configuration uses."""

    text: str  # phrase for the user
    parts: tuple[str, ...]  # values that identify it
    is_code: bool = False  # whether the last part is the text of a program, which no command-line setting can name

    @property
    def digest(self) -> str:
        """Name of its file on this machine."""
        return hashlib.sha256("\0".join(self.parts).encode("utf-8", "replace")).hexdigest()


def expect_trusted(path: Path, demands: Iterable[Demand], overrides: Sequence[str] = ()) -> None:
    """Check that a folder demands nothing but what its user named, now or when its work began on this machine.

    Args:
        path: Folder of the work.
        demands: Demands of its settings.
        overrides: Settings that the user gives now, each ``section.key=value``.

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
            f"{path} asks for what you did not name on this machine: {'; '.join(strange)}. Look at it, then give "
            "--trust"
        )


def remember_demands(demands: Iterable[Demand]) -> None:
    """Store demands as trusted; if the folder cannot be written, the user is asked again."""
    with suppress(OSError):
        _trust_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        for demand in demands:
            (_trust_folder() / demand.digest).touch(mode=0o600)


def model_demands(models: Iterable[ModelSettings]) -> Iterator[Demand]:
    """Yield the demands of models' settings."""
    for model in models:
        key = (model.api_key_env,) if model.api_key_env else ()
        with_key = f" with the key in {model.api_key_env}" if key else ""
        if model.command is not None:
            text = f"to run the command {quote_shortened(model.command)}{with_key}"
            yield Demand(text, ("command", model.command, *key))
        elif model.base_url:
            yield Demand(f"to ask {quote_shortened(model.base_url)}{with_key}", ("server", model.base_url, *key))
        elif key:
            yield Demand(f"to send the value of {model.api_key_env} to a server", ("variable", *key))


def _trust_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "oragent" / "trusted"


def quote_shortened(text: str) -> str:
    """Quote text of a folder for a message: escaped, on one line, shortened."""
    text = " ".join(escape_text(text).split())
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
