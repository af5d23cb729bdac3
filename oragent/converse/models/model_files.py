"""Read the models of conversations: from a file, or from the folder of a formulation."""

from dataclasses import replace
from pathlib import Path

from oragent._base.errors import ConfigError, ProblemError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.converse.conversation_request import (
    ConversationRequest,
    expect_model,
    make_folder,
    with_problem,
    write_request,
)
from oragent.converse.models.model_conversation import MODEL_AGENTS, MODEL_FILE
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write
from oragent.modelling.opening import MODELS_OF_RUN, find_model_of_run, open_model, print_note

# Name of the model that the package contains as an example.
EXAMPLE = "workshop"
# What can be explored.
EXPECTED = f"a model's file, a program that solves one, the folder of a formulation, or {EXAMPLE}, an example"
# File with the replies of a formulation, its maximum size in bytes, and the maximum length of a unit.
REPLIES, MAX_REPLIES, MAX_UNIT_LENGTH = "pool.jsonl", 16 << 20, 40


def read_conversation_model(argument: str) -> IndexedModel:
    """Read a model as ``oragent model`` does, or the example of the package. A program runs in the sandbox.

    Raises:
        OragentError: There is no model.
    """
    path = Path(argument)
    if argument == EXAMPLE and not path.exists():
        path = Path(__file__).with_name(f"{EXAMPLE}.lp")
    if path.is_dir():
        path = find_model_of_run(path)
    elif not path.is_file():
        raise ProblemError(f"no model {argument[:80]!r}: expected {EXPECTED}")
    model = open_model(path, tell=print_note)
    goal = model.objectives[0]
    if len(model.objectives) == 1 and not goal.unit and (unit := _objective_unit(path.with_name(REPLIES))):
        model = replace(model, objectives=(replace(goal, unit=unit),))
    stem = path.resolve().parent.name if path.name in MODELS_OF_RUN else path.stem
    return model if model.name else replace(model, name=stem)


def begin_conversation(outputs: Path, request: ConversationRequest) -> Path:
    """Make the folder of a new conversation, with a copy of its model.

    Raises:
        OragentError: The file has no model, or the agent does not support models.
    """
    model = read_conversation_model(request.problem)
    if request.agent not in MODEL_AGENTS:
        raise ConfigError(
            f"no agent {one_line(request.agent, 40)!r} for conversations: expected one of {', '.join(MODEL_AGENTS)}; "
            "'oragent bench converse' has others"
        )
    expect_model(request)
    folder = make_folder(outputs, model.name)
    write(model, folder / MODEL_FILE)
    write_request(folder, with_problem(request, MODEL_FILE))
    return folder


def _objective_unit(replies: Path) -> str:
    """Return the unit of the objective in the replies of a formulation; empty without one."""
    try:
        if not replies.is_file() or replies.stat().st_size > MAX_REPLIES:
            return ""
        entries = [parse_json(line) for line in replies.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError):
        return ""
    parsed = [
        entry.get("parsed") for entry in entries if isinstance(entry, dict) and entry.get("module") == "formalization"
    ]
    unit = parsed[-1].get("UNIT") if parsed and isinstance(parsed[-1], dict) else None
    return one_line(unit.strip(), MAX_UNIT_LENGTH) if isinstance(unit, str) else ""
