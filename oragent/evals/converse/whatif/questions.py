"""Answers to what-if questions, and when one is right."""

import json
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, StoreError

TOLERANCE = 1e-6  # of objectives, relative where they are larger than 1


class AnswerStatus(StrEnum):
    """How the changed model was solved."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class WhatIfAnswer:
    """What the changed model gives.

    Attributes:
        status: Status with which it was solved.
        objective: Optimal value of the changed model; None unless there is one.
    """

    status: AnswerStatus
    objective: float | None = None


def agrees_with_gold(answer: WhatIfAnswer | None, gold: WhatIfAnswer) -> bool:
    """Return whether an answer has the status of the gold answer and, where that is optimal, its objective to 1e-6."""
    if answer is None or answer.status is not gold.status:
        return False
    if gold.objective is None:
        return True
    if answer.objective is None or not isfinite(answer.objective):
        return False
    return abs(answer.objective - gold.objective) <= TOLERANCE * max(1.0, abs(gold.objective))


MODELS = ("coffee", "netflow", "diet")
SUFFIX = ".benchmark.json"
LARGEST = 20_000_000  # bytes


@dataclass(frozen=True)
class Question:
    """A what-if question.

    Attributes:
        model: Name of the textbook model it is about.
        number: Place in the file of its model, from 1.
        text: Text of the question as it is asked.
        plain: Text of the same question in the words of its template; the text itself where that is no paraphrase.
        kind: Kind of change that it asks for, such as ``demand-increase``.
        template: Identifier of the template that it was made from.
        data_code: Gold: Python that changes data before the model is built; empty where there is none.
        row_code: Gold: Python that adds rows to the model; empty where there is none.
        gold: Gold: what the changed model gives.
    """

    model: str
    number: int
    text: str
    plain: str
    kind: str
    template: str
    data_code: str
    row_code: str
    gold: WhatIfAnswer


def read_questions(folder: Path) -> tuple[Question, ...]:
    """Read the questions of all three models.

    Raises:
        StoreError: a file is missing or cannot be read.
        ConfigError: a file holds something else; names the question and what is wrong with it.
    """
    return tuple(question for model in MODELS for question in _of_model(folder / f"{model}{SUFFIX}", model))


def _of_model(path: Path, model: str) -> list[Question]:
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST // 10**6} MB: expected a file of questions")
        tree = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise StoreError(
            f"cannot read {path}: {problem.strerror}; expected {', '.join(MODELS)}, each {SUFFIX}"
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is no JSON: expected a file of questions") from None
    records = tree.get("questions") if isinstance(tree, dict) else None
    if not isinstance(records, list) or not records:
        raise ConfigError(f"{path} must hold a list of questions, at least one, under 'questions'")
    questions = []
    for number, record in enumerate(records, 1):
        try:
            questions.append(_read_question(model, number, record))
        except ConfigError as problem:
            raise ConfigError(f"{path}, question {number}: {problem}") from None
    return questions


def _read_question(model: str, number: int, record: Any) -> Question:
    if not isinstance(record, dict):
        raise ConfigError("expected keys and values")
    text = _read_text(record, "QUESTION")
    data_code, row_code = _read_text(record, "DATA CODE", ""), _read_text(record, "CONSTRAINT CODE", "")
    if not data_code and not row_code:
        raise ConfigError("expected DATA CODE or CONSTRAINT CODE, as a question changes something")
    return Question(
        model=model,
        number=number,
        text=text,
        plain=_read_text(record, "MACRO GEN QUESTION", text),
        kind=_read_text(record, "TYPE"),
        template=_read_text(record, "raw_question_hash"),
        data_code=data_code,
        row_code=row_code,
        gold=_read_gold(record.get("GT EXEC RESULT")),
    )


def _read_text(record: dict[str, Any], key: str, default: str | None = None) -> str:
    text = record.get(key, default)
    if not isinstance(text, str) or (default is None and not text.strip()):
        raise ConfigError(f"{key} must be text, not {text!r:.40}")
    return text


def _read_gold(result: Any) -> WhatIfAnswer:
    """The executed result: an objective, or a status with more lines after it."""
    if isinstance(result, int | float) and not isinstance(result, bool) and abs(result) < 1e300:
        return WhatIfAnswer(AnswerStatus.OPTIMAL, float(result))
    first = result.partition("\n")[0].strip().lower() if isinstance(result, str) else ""
    if first in (AnswerStatus.INFEASIBLE, AnswerStatus.UNBOUNDED):
        return WhatIfAnswer(AnswerStatus(first))
    raise ConfigError(f"GT EXEC RESULT must be a number, infeasible or unbounded, not {result!r:.40}")
