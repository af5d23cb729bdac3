"""Settings of models and budget, shared by all products, from the command line, YAML and Python."""

import difflib
import json
import random
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le
from pydantic import ConfigDict, Field, JsonValue
from pydantic.dataclasses import dataclass

from oragent._base import settings
from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT
from oragent.llm.gateway import find_wrong_entry, list_variables

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Style = Literal["auto", "small", "strong"]
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
# Keys of a request's body that ``extra_body`` must not set.
OURS = ("model", "messages", "tools", "stream", "n")


# Source that is named in errors if there is no file.
SOURCE = "settings"


# Values may be keys, so errors do not repeat them.
@dataclass(frozen=True, config=ConfigDict(extra="forbid", hide_input_in_errors=True))
class ModelSettings:
    """Choice of a model, and how it is asked.

    Attributes:
        name: Name by which the server knows the model, such as ``gpt-4.1-mini``; for a command, any name.
        base_url: Address of an OpenAI-compatible server, including ``/v1``; None: ``OPENAI_BASE_URL``.
        api_key_env: Environment variable with the key of this server. None: ``OPENAI_API_KEY``, which is sent only to
            ``OPENAI_BASE_URL``, or to OpenAI if that is not set.
        key_command: Program that prints the key of this server, such as one that renews tokens; run again when the
            server refuses the key.
        headers: Further headers of each request; ``$NAME`` is a variable, ``{key}`` the key.
        query: Parameters of the address of each request, such as ``api-version``; likewise.
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
        timeout_s: Seconds without a byte of the reply after which it is given up, and the work pauses; the model is not
            asked again, because the reply may be paid for.
        retries: Further attempts after a temporary failure.
        concurrency: Calls in flight at once, at most.
        backoff_s: Seconds before the first retry; doubled for each further one.
    """

    name: str = ""
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    api_key_env: str | None = None
    key_command: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    command: str | None = None
    style: Style = "auto"
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 1.0
    max_tokens: Annotated[int, Ge(1)] | None = None
    context_tokens: Annotated[int, Ge(256)] | None = None
    reasoning_effort: Effort | None = None
    seed: Annotated[int, Ge(0)] | None = None
    structured: bool = True
    extra_body: dict[str, JsonValue] = field(default_factory=dict)
    timeout_s: Annotated[float, Gt(0.0)] = 900.0
    retries: Annotated[int, Ge(0)] = 5
    concurrency: Annotated[int, Ge(1)] = 4
    backoff_s: Annotated[float, Ge(0.0)] = 0.5

    def __post_init__(self) -> None:
        # The value may be the key itself, so it is not repeated.
        if self.api_key_env is not None and not VARIABLE.fullmatch(self.api_key_env):
            raise ValueError("api_key_env must be the name of an environment variable, such as MISTRAL_API_KEY")
        if taken := [name for name in OURS if name in self.extra_body]:
            raise ValueError(f"extra_body must not set {taken[0]!r}, which each request has already")
        if wrong := find_wrong_entry(self.headers, self.query):
            raise ValueError(wrong)
        if self.key_command is not None and self.api_key_env is not None:
            raise ValueError("a model has either a key_command or an api_key_env, not both")
        if self.command is not None and (self.headers or self.query or self.key_command):
            raise ValueError("headers, query and key_command belong to a server, and this model is a command")
        if self.command is not None and self.base_url is not None:
            raise ValueError("a model has either a command or a base_url, not both")
        if not self.name:
            object.__setattr__(self, "name", PurePath(self.command_words[0]).name if self.command is not None else "")
        if not self.name:
            raise ValueError("a model needs a name, or a command")

    @property
    def variables(self) -> list[str]:
        """Environment variables with its key and with parts of its headers and parameters."""
        named = [self.api_key_env] if self.api_key_env else []
        return [*named, *list_variables((*self.headers.values(), *self.query.values()))]

    @property
    def command_words(self) -> list[str]:
        """Command and its arguments."""
        try:
            words = shlex.split(self.command or "")
        except ValueError as problem:
            raise ValueError(f"command {self.command!r} cannot be read: {problem}") from None
        if not words:
            raise ValueError("command must name a program")
        return words

    def __hash__(self) -> int:
        values = {name: value for name, value in vars(self).items() if not name.startswith("__")}
        return hash(json.dumps(values, default=str))


# If a server asks for a longer wait, it counts as down.
MAX_WAIT_S = 120.0
MAX_BACKOFF_S = 30.0


def delay_s(failed: int, backoff_s: float, asked_s: float | None = None) -> float:
    """Return the seconds to wait before the next attempt, with jitter so that calls spread out.

    ``backoff_s`` doubles with each of the ``failed`` attempts before the last one. ``asked_s`` is the wait that a
    server requests.
    """
    # No result depends on the jitter.
    jitter = random.random()
    if asked_s is not None:
        return asked_s + backoff_s * jitter
    growing: float = min(MAX_BACKOFF_S, backoff_s * 2.0 ** min(failed, 16))
    return growing * (0.75 + 0.5 * jitter)


def explain_timeout(what: str, settings: ModelSettings, limit_s: float | None = None) -> str:
    """Return the message of a time-out: the failure, the setting with its limit, and the next step.

    ``limit_s`` is the limit that applied, if it is lower than the setting.
    """
    if limit_s is not None and limit_s < settings.timeout_s:
        return f"{what} when it was asked for one word: is it the right address, and is the server ready?"
    raised = 2 * settings.timeout_s
    return (
        f"{what}, the limit of model.timeout_s for {settings.name!r}; it is not asked again, as the reply may be paid "
        f"for: resume with a higher limit, such as model.timeout_s={raised:g}"
    )


@dataclass(frozen=True, config=STRICT)
class RuntimeSettings:
    """Models and their budget.

    Attributes:
        model: Model of all roles without an entry in ``models``; None: no model is used.
        models: Models of single roles.
        ensemble: Further models; a bandit chooses among them and ``model``.
        budget: Budget of the whole work; without bounds by default.
    """

    model: ModelSettings | None = None
    models: dict[str, ModelSettings] = field(default_factory=dict)
    ensemble: tuple[ModelSettings, ...] = ()
    budget: Budget = field(default_factory=lambda: Budget(evaluations=None))

    @property
    def every_model(self) -> tuple[ModelSettings, ...]:
        """All models, the main one first."""
        return (*filter(None, [self.model]), *self.models.values(), *self.ensemble)

    @property
    def model_name(self) -> str:
        """Name of the main model; empty without a model."""
        if self.model is None:
            return ""
        return self.model.name


@dataclass(frozen=True, config=STRICT)
class RuntimeWords:
    """Settings of the command line.

    Attributes:
        words: Texts ``model.base_url=URL``, ``models.ROLE.name=NAME``, ``budget.money=2``.
        shortcuts: Values of options by the key of their setting; None: not given.
        config: YAML file with the same keys; None for none.
    """

    words: tuple[str, ...] = ()
    shortcuts: dict[str, Any] = field(default_factory=dict)
    config: Path | None = None

    @property
    def overrides(self) -> list[str]:
        """All settings except those of the file, as ``key=value``. ``words`` come last and win."""
        overrides = [f"{key}={json.dumps(value)}" for key, value in self.shortcuts.items() if value is not None]
        return [*overrides, *self.words]

    def read_runtime(self, roles: Collection[str] = (), earlier: RuntimeSettings | None = None) -> RuntimeSettings:
        """Check the settings."""
        tree = {} if earlier is None else settings.dump_settings(earlier)
        if self.config is not None:
            tree |= settings.load_settings_tree(self.config)
        return check_roles(
            build_runtime(tree, self.overrides, SOURCE if self.config is None else str(self.config)), roles
        )

    def name_model(
        self, name: str, roles: Collection[str] = (), shortcuts: Mapping[str, Any] | None = None
    ) -> RuntimeSettings:
        """Check the settings of a benchmark's contestant, whose model is named by the benchmark."""
        if any(word.startswith("model.name=") for word in self.words):
            raise ConfigError("model.name cannot be set for a benchmark: name contestants with --models")
        stated = {key: value for key, value in self.shortcuts.items() if value is not None}
        named = {**(shortcuts or {}), **stated, "model.name": name}
        return replace(self, shortcuts=named).read_runtime(roles)


def build_runtime(tree: Mapping[str, Any], overrides: Sequence[str] = (), source: str = SOURCE) -> RuntimeSettings:
    """Check a tree of settings with overrides.

    Raises:
        ConfigError: A key or a value is unknown, or the budget bounds evaluations or work, which only a search counts.
    """
    built = settings.build_settings(RuntimeSettings, dict(tree), overrides, source)
    plain = tree.get("budget")
    for name in ("evaluations", "work"):
        is_named = any(word.startswith(f"budget.{name}=") for word in overrides)
        if (is_named or (isinstance(plain, Mapping) and plain.get(name))) and getattr(built.budget, name):
            raise ConfigError(
                f"{source}: budget.{name} bounds a search; here budget.model_calls, budget.tokens, budget.money and "
                "budget.seconds do"
            )
    return built


def check_roles(runtime: RuntimeSettings, roles: Collection[str]) -> RuntimeSettings:
    """Return the settings if they name only these roles. Without roles, any role is accepted."""
    for role in runtime.models:
        if roles and role not in roles:
            near = difflib.get_close_matches(role, list(roles), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(sorted(roles))}"
            raise ConfigError(f"models.{role} does not name a role: {hint}")
    if runtime.model is None and (runtime.models or runtime.ensemble):
        raise ConfigError("models and ensemble need a main model: name it with --model or model.name")
    return runtime
