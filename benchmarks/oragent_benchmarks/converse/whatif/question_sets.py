"""Sets of what-if questions as folders: models, questions, gold lines and expected results.

    SET/MODEL.json (or .lp, .mps)     the models
    SET/questions.jsonl               one question per line:
    {"model": "MODEL.json", "question": "...", "lines": ["whatif ..."], "expected": {"objective.after": 268154.2}}

``expected`` maps paths of references to figures and texts of the last line's result, such as ``status_after``. The gold
lines are not shown to any agent.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from oragent._base.errors import ConfigError, OragentError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.modelling.operations.results import AnyResult, Figure
from oragent.modelling.references.answer_references import POSSIBLE
from oragent.modelling.references.answer_text import AnswerPart

QUESTIONS = "questions.jsonl"
MAX_BYTES = 64 << 20
# Relative difference up to which two figures are equal.
SAME = 1e-6
# Relative difference between a figure and its shown, rounded form.
SHOWN = 1e-4
STEP = re.compile(r"\w+")
SHOWN_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class Question(BaseModel):
    """A question on a model, with the lines and figures of its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str
    question: str
    lines: tuple[str, ...]
    expected: Mapping[str, float | str]


def read_questions(folder: Path) -> list[Question]:
    """Read the questions of a set from its folder.

    Raises:
        ConfigError: The set is empty, a question has the wrong form, or its model is not in the folder.
    """
    path = folder / QUESTIONS
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise ConfigError(f"{folder} contains no questions: expected {QUESTIONS} with at most {MAX_BYTES >> 20} MB")
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
        raise ConfigError(f"{path} contains no question")
    return questions


def find_breach(
    question: Question, results: Mapping[str, AnyResult], answer: Sequence[AnswerPart] | None = None
) -> str:
    """Describe an expectation that no result fulfils; empty if one of the results fulfils all.

    If an answer is given, its figures must instead contain each expected value, whatever their results are.
    """
    if answer is not None:
        return _find_missing(question.expected, answer)
    breach = "no result"
    for identifier in reversed(list(results)):
        breach = _compare(question.expected, identifier, results)
        if not breach:
            return ""
    return breach


def _find_missing(expected: Mapping[str, float | str], answer: Sequence[AnswerPart]) -> str:
    """Describe an expected value that the answer does not state. Signs are ignored, because prose may express them."""
    shown = [part.text for part in answer if part.kind == "figure"]
    figures = [abs(float(match[0].replace(",", ""))) for text in shown for match in SHOWN_FIGURE.finditer(text)]
    for path, value in expected.items():
        if isinstance(value, str):
            is_shown = bool({value, POSSIBLE.get(value, value)} & set(shown))
        else:
            is_shown = any(abs(figure - abs(value)) <= SHOWN * max(1.0, abs(value)) for figure in figures)
        if not is_shown:
            return f"{path}: the answer shows {', '.join(shown) or 'no figure'}, expected {value}"
    return ""


def find_part(result: AnyResult, path: str) -> object:
    """Return the part of a result for a path such as ``objective.difference`` or ``moved[0].family``."""
    part: Any = result
    try:
        for step in STEP.findall(path):
            part = part[int(step)] if step.isdigit() else getattr(part, step)
    except (AttributeError, IndexError, TypeError):
        raise ConfigError(f"the result has no part {one_line(path, 80)}") from None
    return part


def _compare(expected: Mapping[str, float | str], identifier: str, results: Mapping[str, AnyResult]) -> str:
    for path, value in expected.items():
        try:
            part = find_part(results[identifier], path)
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
