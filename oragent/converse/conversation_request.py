"""Requests of conversations: what one was begun with, and its folder."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent._base.settings import dump_settings
from oragent.ledger.database import FORMAT, expect_format
from oragent.llm.model_settings import RuntimeSettings, build_runtime

FILE = "converse.json"
# of a solve in a conversation about a model
SOLVE_S = 60.0


@dataclass(frozen=True)
class ConversationRequest:
    """What a conversation was begun with.

    Attributes:
        problem: Problem, as the command line names it; of a model, the copy in the folder.
        runtime: Settings of its language models, and the budget; without a model where it asks none.
        seconds: Cap on one solve of a model.
        gap: Relative gap at which a solve of a model may stop.
    """

    problem: str
    agent: str = "rules"
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    seconds: float = SOLVE_S
    gap: float = 0.0


def make_folder(outputs: Path, name: str) -> Path:
    """Make the folder ``NAME/TIME`` of a new conversation.

    Raises:
        StoreError: It cannot be made.
    """
    folder = files.name_dated_folder(outputs / files.file_stem(name, "model", limit=80))
    try:
        folder.mkdir(parents=True)
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return folder


def write_request(folder: Path, request: ConversationRequest) -> None:
    """Write what a folder was begun with."""
    tree = {"format": FORMAT} | asdict(request) | {"runtime": dump_settings(request.runtime)}
    files.replace_file(folder / FILE, json.dumps(tree, indent=1) + "\n")


def read_request(folder: Path) -> ConversationRequest:
    """Read what a folder was begun with.

    Raises:
        StoreError: It is none, was changed by hand, or has a link in it.
    """
    files.expect_no_links(folder)
    try:
        plain = json.loads((folder / FILE).read_text(encoding="utf-8"))
        expect_format(plain.get("format"), folder / FILE)
        problem, agent = str(plain["problem"]), str(plain["agent"])
        runtime = build_runtime(plain["runtime"], (), str(folder / FILE))
        seconds, gap = float(plain.get("seconds", SOLVE_S)), float(plain.get("gap", 0.0))
        return ConversationRequest(problem, agent, runtime, seconds, gap)
    except OSError as problem:
        raise StoreError(f"no conversation at {folder}: {problem.strerror} ({FILE})") from None
    except (AttributeError, ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{folder / FILE} is not what a conversation leaves: {type(problem).__name__}") from None


def expect_model(request: ConversationRequest) -> None:
    """Check that an agent that asks has a language model.

    Raises:
        ConfigError: It has none.
    """
    if request.agent != "rules" and request.runtime.model is None:
        raise ConfigError(f"{request.agent} needs a language model: add --model NAME, or take --agent rules")


def with_problem(request: ConversationRequest, problem: str) -> ConversationRequest:
    """The request with the copy of its problem."""
    return replace(request, problem=problem)
