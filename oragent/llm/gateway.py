"""Demands of gateways in front of models: headers, parameters of the query, and keys that a command prints.

Texts may name environment variables as ``$NAME``, and the key as ``{key}``, so that no key is in a file of settings.
"""

import asyncio
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from oragent._base.errors import ModelError
from oragent._base.text_format import one_line, shorten
from oragent.sandbox.children import ChildLimits, run_child

KEY_PLACE = "{key}"
NAMED_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]{0,100})\}?")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Names whose values are keys.
SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
# Headers that each request has already.
OURS = ("content-type", "content-length", "host", "accept", "transfer-encoding", "connection")
# Limits of a command that prints a key: seconds, and bytes of its output.
COMMAND_S = 60.0
MAX_KEY_BYTES = 64 << 10


def find_wrong_entry(headers: Mapping[str, str], query: Mapping[str, str]) -> str:
    """Return why headers or parameters cannot be used, without repeating their values; empty if they can."""
    for name in headers:
        if not HEADER_NAME.fullmatch(name) or name.lower() in OURS:
            return f"headers must not set {name!r}: use a header name that requests do not have already"
    for kind, entries in (("headers", headers), ("query", query)):
        for name, value in entries.items():
            if not (value.isascii() and value.isprintable()):
                return f"{kind}: the value of {name!r} has a character that is not allowed"
            if SECRET_NAME.search(name) and KEY_PLACE not in value and not NAMED_VARIABLE.search(value):
                return f"{kind}: {name!r} looks like a key: name a variable, '$NAME', or '{KEY_PLACE}'"
    return ""


def list_variables(texts: Iterable[str]) -> list[str]:
    """List the environment variables that texts name."""
    return list(dict.fromkeys(name for text in texts for name in NAMED_VARIABLE.findall(text)))


@dataclass
class Gateway:
    """What each request needs besides its body.

    Args:
        key: Key of the server; empty for none. A command replaces it.
        headers: Headers by name, with places.
        query: Parameters of the query, with places.
        key_command: Command that prints the key; empty for none. It is run again when the server refuses the key.
        variables: Values of the variables that headers and parameters name.
    """

    key: SecretStr
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    key_command: str = ""
    variables: Mapping[str, SecretStr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in list_variables((*self.headers.values(), *self.query.values())):
            if not self.variables.get(name, SecretStr("")).get_secret_value():
                raise ModelError(f"{name} is not set: a header or parameter of the model names it")

    @property
    def sends_own_key(self) -> bool:
        """True if a header or parameter carries the key, so that the usual header is left out."""
        names = {name.lower() for name in self.headers}
        return "authorization" in names or any(
            KEY_PLACE in text for text in (*self.headers.values(), *self.query.values())
        )

    @property
    def secrets(self) -> list[str]:
        """Values that must not be printed."""
        return [secret.get_secret_value() for secret in (self.key, *self.variables.values())]

    def fill(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Fill the places of headers or parameters."""

        def replace(match: re.Match[str]) -> str:
            return self.variables[match[1]].get_secret_value()

        key = self.key.get_secret_value()
        return {name: NAMED_VARIABLE.sub(replace, text).replace(KEY_PLACE, key) for name, text in texts.items()}

    async def renew_key(self) -> None:
        """Run the command and take the key that it prints.

        Raises:
            ModelError: It fails, prints nothing, or something that is no key.
        """
        words = shlex.split(self.key_command)
        program = shutil.which(words[0]) if words else None
        if program is None:
            raise ModelError(f"model.key_command: no program {shorten(self.key_command, 60)!r} is on the path")
        command = [os.path.abspath(program), *words[1:]]
        try:
            ended = await asyncio.to_thread(run_child, command, None, ChildLimits(COMMAND_S), variables=os.environ)
        except subprocess.TimeoutExpired:
            raise ModelError(f"model.key_command printed no key within {COMMAND_S:g} s") from None
        key = ended.stdout[:MAX_KEY_BYTES].decode("utf-8", "replace").strip()
        if ended.returncode:
            reason = one_line(ended.stderr.decode("utf-8", "replace"))
            raise ModelError(f"model.key_command ended with code {ended.returncode}: {reason}")
        if not key or not (key.isascii() and key.isprintable()) or " " in key:
            raise ModelError("model.key_command must print the key alone, on one line")
        self.key = SecretStr(key)
