"""Sets of what-if questions as folders: models, questions, gold lines and expected results.

    SET/MODEL.json (or .lp, .mps)     the models
    SET/questions.jsonl               one question per line:
    {"model": "MODEL.json", "question": "...", "lines": ["whatif ..."], "expected": {"objective.after": 268154.2}}

``expected`` maps paths of references to figures and texts of the last line's result, such as ``status_after``. The gold
lines are not shown to any agent.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from oragent._base.errors import ConfigError, OragentError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.milp.operations.results import AnyResult, Figure
from oragent.milp.references import resolve_reference

QUESTIONS = "questions.jsonl"
LARGEST = 64 << 20
# Relative difference up to which two figures are equal.
SAME = 1e-6


class Question(BaseModel):
    """A question on a model, with the lines and figures of its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    question: str
    lines: tuple[str, ...]
    expected: Mapping[str, float | str]


def read_questions(folder: Path) -> list[Question]:
    """Read the questions of a set.

    Raises:
        ConfigError: The set is empty, a question has another form, or its model is not in the folder.
    """
    path = folder / QUESTIONS
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise ConfigError(f"{folder} holds no questions: expected {QUESTIONS} in it, of at most {LARGEST >> 20} MB")
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            question = Question.model_validate(parse_json(line))
        except (ValueError, ValidationError) as problem:
            raise ConfigError(f"{path}, line {number}: {one_line(str(problem), 200)}") from None
        if Path(question.model).name != question.model or not (folder / question.model).is_file():
            raise ConfigError(f"{path}, line {number}: no model {question.model[:80]!r} in the folder")
        questions.append(question)
    if not questions:
        raise ConfigError(f"{path} holds no question")
    return questions


def find_breach(question: Question, results: Mapping[str, AnyResult]) -> str:
    """Describe an expectation that no result meets; empty if one of the results meets all expectations."""
    breach = "no result"
    for identifier in reversed(list(results)):
        breach = _compare(question.expected, identifier, results)
        if not breach:
            return ""
    return breach


def _compare(expected: Mapping[str, float | str], identifier: str, results: Mapping[str, AnyResult]) -> str:
    for path, value in expected.items():
        try:
            part = resolve_reference(f"{identifier}.{path}", results)
        except OragentError as problem:
            return one_line(str(problem), 120)
        figure = part.value if isinstance(part, Figure) else part
        if isinstance(value, str) or not isinstance(figure, int | float):
            is_same = str(figure) == str(value)
        else:
            is_same = abs(figure - value) <= SAME * max(1.0, abs(value))
        if not is_same:
            return f"{path} is {figure}, expected {value}"
    return ""
