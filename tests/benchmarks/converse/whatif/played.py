"""A folder of the sixty questions, and the replies that a language model gave when it saw the prompts alone."""

import json
from collections.abc import Callable
from pathlib import Path

from oragent.modelling.files.model_files import write
from oragent_benchmarks.converse.whatif.question_sets import QUESTIONS as FILE
from tests.benchmarks.converse.whatif.planners import MODELS
from tests.benchmarks.converse.whatif.questions import QUESTIONS, PlannerQuestion

# Replies by question: calls of the tool as lists of lines, and at last the answer.
REPLIES: dict[str, list[list[str] | str]] = json.loads(Path(__file__).with_name("played.json").read_text())


def write_set(folder: Path, questions: tuple[PlannerQuestion, ...] = QUESTIONS) -> Path:
    """Write the set; the expected figures are those of SciPy."""
    rows = []
    for question in questions:
        path = folder / f"{question.model}.json"
        if not path.exists():
            write(MODELS[question.model](), path)
        value = question.truth()
        expected = {question.path: "infeasible" if value is None else value}
        row = {"model": path.name, "question": question.text, "lines": [question.line], "expected": expected}
        rows.append(row)
    (folder / FILE).write_text("\n".join(map(json.dumps, rows)))
    return folder


def replay() -> Callable[[list[dict[str, str]]], str]:
    """Return a stand-in for the model that repeats its replies."""

    def reply(messages: list[dict[str, str]]) -> str:
        begin = max(place for place, message in enumerate(messages) if message["content"] in REPLIES)
        number = sum(message["role"] == "assistant" for message in messages[begin:])
        recorded = REPLIES[messages[begin]["content"]][number]
        if isinstance(recorded, str):
            return recorded
        return f"```json\n{json.dumps({'name': 'ask', 'arguments': {'lines': recorded}})}\n```"

    return reply
