"""Settings of a model: its name, its server or command, the parameters of calls, and waits between attempts."""

import json
import random
import re
import shlex
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import PurePath
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import ConfigDict, Field, JsonValue
from pydantic.dataclasses import dataclass

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Style = Literal["auto", "small", "strong"]
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
OURS = ("model", "messages", "tools", "stream", "n")  # keys of a request's body that no extra_body may take


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ModelSettings:
    """Which model to ask, and how.

    Attributes:
        name: Name by which the server knows the model, such as ``gpt-4.1-mini``; for a command, any name.
        base_url: Address of an OpenAI-compatible server, including ``/v1``; None: ``OPENAI_BASE_URL``.
        api_key_env: Environment variable with the key of this server. None: ``OPENAI_API_KEY``, which is sent only to
            ``OPENAI_BASE_URL``, or to OpenAI if that is not set.
        command: Program to ask instead of a server, with arguments: prompt on stdin, reply on stdout.
        style: Wording of prompts. ``small``: small steps, few words; ``strong``: more freedom and information;
            ``auto``: by the replies.
        temperature: Sampling temperature, 0 to 2; some calls set their own.
        max_tokens: Longest reply, in tokens; None: the server's limit.
        context_tokens: Tokens of prompt and reply together; prompts are shortened to fit. None: unknown.
        reasoning_effort: Reasoning before the reply; None: the server's default.
        seed: Seed of the sampling, 0 or more, from which each call's own seed follows; None: no seed is sent.
        structured: Request replies that are data by a schema, if the server supports it.
        extra_body: Further keys of the request, as the server names them.
        timeout_s: Seconds for one attempt.
        retries: Further attempts after a temporary failure.
        concurrency: Calls in flight at once, at most.
        backoff_s: Seconds before the first retry; doubled for each further one.
    """

    name: str = ""
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    api_key_env: str | None = None
    command: str | None = None
    style: Style = "auto"
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 1.0
    max_tokens: Annotated[int, Ge(1)] | None = None
    context_tokens: Annotated[int, Ge(256)] | None = None
    reasoning_effort: Effort | None = None
    seed: Annotated[int, Ge(0)] | None = None
    structured: bool = True
    extra_body: dict[str, JsonValue] = field(default_factory=dict)
    timeout_s: Annotated[float, Gt(0.0)] = 120.0
    retries: Annotated[int, Ge(0)] = 5
    concurrency: Annotated[int, Ge(1)] = 4
    backoff_s: Annotated[float, Ge(0.0)] = 0.5

    def __post_init__(self) -> None:
        """Check what a field alone does not show, and name a command's model.

        Raises:
            ValueError: There is neither name nor command, or two settings contradict each other.
        """
        if self.api_key_env is not None and not VARIABLE.fullmatch(self.api_key_env):  # perhaps the key: not repeated
            raise ValueError("api_key_env must be the name of an environment variable, such as MISTRAL_API_KEY")
        if taken := [name for name in OURS if name in self.extra_body]:
            raise ValueError(f"extra_body must not set {taken[0]!r}, which each request has already")
        if self.command is not None and self.base_url is not None:
            raise ValueError("a model is behind a command or behind base_url, not both")
        if not self.name:
            object.__setattr__(self, "name", PurePath(self.command_words[0]).name if self.command is not None else "")
        if not self.name:
            raise ValueError("a model needs a name, or a command")

    @classmethod
    def from_plan(cls, name: str, plan: Mapping[str, Any]) -> "ModelSettings":
        """Make the settings of a benchmark's model, with the limits on length and time from its plan."""
        return cls(name, **{key: plan[key] for key in ("max_tokens", "timeout_s") if plan.get(key) is not None})

    @property
    def changed_settings(self) -> dict[str, Any]:
        """Settings that differ from the defaults, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        default = ModelSettings("default")
        return {name: value for name, value in values.items() if name == "name" or value != getattr(default, name)}

    @property
    def command_words(self) -> list[str]:
        """Command and its arguments.

        Raises:
            ValueError: The command cannot be split, or is empty.
        """
        try:
            words = shlex.split(self.command or "")
        except ValueError as problem:
            raise ValueError(f"command {self.command!r} cannot be read: {problem}") from None
        if not words:
            raise ValueError("command must name a program")
        return words

    @property
    def key(self) -> str:
        """Text that is equal for equal settings."""
        return json.dumps({name: value for name, value in vars(self).items() if not name.startswith("__")}, default=str)

    def __hash__(self) -> int:
        return hash(self.key)


LONGEST_WAIT_S = 120.0  # a server that asks for more counts as down
LONGEST_BACKOFF_S = 30.0


def delay_s(failed: int, backoff_s: float, asked_s: float | None = None) -> float:
    """Return the seconds to wait before the next attempt; jittered, so that calls spread out.

    Args:
        failed: Number of attempts that failed before the last one.
        backoff_s: Wait after the first failure, seconds; it doubles with every further one.
        asked_s: Seconds that the server asks for; None if it does not say.
    """
    jitter = random.random()  # no result depends on it
    if asked_s is not None:
        return asked_s + backoff_s * jitter
    growing: float = min(LONGEST_BACKOFF_S, backoff_s * 2.0 ** min(failed, 16))
    return growing * (0.75 + 0.5 * jitter)
