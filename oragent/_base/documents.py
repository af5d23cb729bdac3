"""Results and errors as JSON documents, for ``--json`` and for tools of the MCP server."""

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

from oragent._base.errors import (
    BudgetExhausted,
    CandidateError,
    ConfigError,
    ModelError,
    ModellingError,
    ModelTimeout,
    OragentError,
    ProblemError,
    ReplyError,
    SandboxError,
    StoreError,
    TableError,
    UntrustedError,
    WorkspaceError,
)
from oragent._base.text_format import escape_text, shorten

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]

# Maximum number of characters of an error message.
MAX_MESSAGE = 2000
# Advice by error class; a message often has more details.
ADVICE: Mapping[type[BaseException], str] = {
    UntrustedError: "Read what the folder asks for; agree with --trust.",
    ConfigError: "Correct the argument or setting that the message names.",
    ProblemError: "Name a problem that 'oragent problems' lists, or correct its folder ('oragent check').",
    CandidateError: "Correct the program.",
    ReplyError: "Ask the model again.",
    ModelTimeout: "Raise model.timeout_s, or try again later.",
    ModelError: "Check the model's name, address and key.",
    ModellingError: "Correct the model or the line that the message names.",
    SandboxError: "Run 'oragent doctor' on this machine.",
    TableError: "Correct the table that the message names.",
    StoreError: "Check the path of the folder, and that no other process uses it.",
    WorkspaceError: "Correct the file that the message names, or make a workspace.",
    BudgetExhausted: "Raise the budget.",
    OragentError: "Correct the command line ('oragent --help').",
    OSError: "Check the path, its permissions and the free disk space.",
}


def to_plain(value: object) -> JsonValue:
    """Return a value as plain data for JSON.

    Dataclasses and pydantic models become objects, sequences become lists, and NaN and infinite numbers become None.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Enum):
        return to_plain(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # By their methods: arrays and scalars of numpy, and models of pydantic. Importing both costs 0.2 s.
    if callable(list_values := getattr(value, "tolist", None)):
        return to_plain(list_values())
    if callable(dump_model := getattr(value, "model_dump", None)):
        return to_plain(dump_model(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        names = [entry.name for entry in fields(value) if entry.repr and not entry.name.startswith("_")]
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence | Set):
        return [to_plain(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    return str(value)


def describe_error(problem: BaseException) -> dict[str, JsonValue]:
    """Return an error as an object: ``code``, ``message``, ``advice``."""
    advice = next((text for kind, text in ADVICE.items() if isinstance(problem, kind)), "Report this as a bug.")
    message = shorten(" ".join(escape_text(str(problem)).split()), MAX_MESSAGE)
    code = type(problem).__name__ if isinstance(problem, OragentError) else "OSError"
    if not isinstance(problem, OragentError | OSError):
        code = "InternalError"
    return {"error": {"code": code, "message": message, "advice": advice}}


def dump_json(value: object) -> str:
    """Write a value as one line of JSON, valid even if figures are not finite."""
    return json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
