"""Stored requests and folders of conversations."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent._base.settings import dump_settings
from oragent.ledger.database import FORMAT, expect_format
from oragent.llm.model_settings import RuntimeSettings, build_runtime

FILE = "converse.json"
# Default time limit of a solve in a conversation about a model, in seconds.
SOLVE_S = 60.0


@dataclass(frozen=True)
class ConversationRequest:
    """Settings with which a conversation was started.

    Attributes:
        problem: Problem name from the command line, or the path of the model's copy in the folder.
        runtime: Settings of language models, and the budget; without a model if the conversation uses none.
        seconds: Time limit of one solve of a model.
        gap: Relative gap at which a solve of a model may stop.
        solver: Back end that solves a model.
        confirm: Second back end that solves it again; empty for none.
        threads: Threads of the solver.
    """

    problem: str
    agent: str = "rules"
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    seconds: float = SOLVE_S
    gap: float = 0.0
    solver: str = "highs"
    confirm: str = ""
    threads: int = 1


def make_folder(outputs: Path, name: str) -> Path:
    """Make the folder ``NAME/TIME`` of a new conversation.

    Raises:
        StoreError: The folder cannot be created.
    """
    folder = files.name_dated_folder(outputs / files.file_stem(name, "model", limit=80))
    try:
        folder.mkdir(parents=True)
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return folder


def write_request(folder: Path, request: ConversationRequest) -> None:
    """Write the request into a folder."""
    tree = {"format": FORMAT} | asdict(request) | {"runtime": dump_settings(request.runtime)}
    files.replace_file(folder / FILE, json.dumps(tree, indent=1) + "\n")


def read_request(folder: Path) -> ConversationRequest:
    """Read the request of a folder.

    Raises:
        StoreError: The folder has no request, was edited by hand, or contains a link.
    """
    files.expect_no_links(folder)
    try:
        plain = json.loads((folder / FILE).read_text(encoding="utf-8"))
        expect_format(plain.get("format"), folder / FILE)
        problem, agent = str(plain["problem"]), str(plain["agent"])
        runtime = build_runtime(plain["runtime"], (), str(folder / FILE))
        seconds, gap = float(plain["seconds"]), float(plain["gap"])
        solver, confirm = str(plain["solver"]), str(plain["confirm"])
        threads = int(plain["threads"])
        return ConversationRequest(problem, agent, runtime, seconds, gap, solver, confirm, threads)
    except OSError as problem:
        raise StoreError(f"no conversation at {folder}: {problem.strerror} ({FILE})") from None
    except (AttributeError, ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{folder / FILE} is not what a conversation leaves: {type(problem).__name__}") from None


def expect_model(request: ConversationRequest) -> None:
    """Check that an agent that needs a language model has one.

    Raises:
        ConfigError: The agent has no language model.
    """
    if request.agent != "rules" and request.runtime.model is None:
        raise ConfigError(f"{request.agent} needs a language model: add --model NAME, or take --agent rules")


def with_problem(request: ConversationRequest, problem: str) -> ConversationRequest:
    """Return the request with the copy of its problem."""
    return replace(request, problem=problem)
