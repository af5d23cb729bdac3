"""Run a set of what-if questions with its gold lines, the agent T-P-P, or a small model that writes lines."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from oragent._base.errors import ConfigError, OragentError
from oragent.converse.models.line_writer import LineWriter
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import LinesAgent, OperationsAgent
from oragent.converse.models.model_conversation import LINES
from oragent.converse.models.workbench import Workbench
from oragent.ledger import LedgerCase
from oragent.ledger.study import FinishedCase, open_study
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings, RuntimeWords
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import read_indexed
from oragent.modelling.operations.outcomes import SolveLimits
from oragent_benchmarks.converse.whatif.question_sets import Question, find_breach, read_questions

GOLD, TOOLS, WRITER = "gold", "T-P-P", "lines"
AGENTS = (GOLD, TOOLS, WRITER)
SOLVE_S = 60.0


@dataclass(frozen=True)
class QuestionScore:
    """Score of an agent on one question."""

    question: Question
    # Reason why the answer is wrong. Empty if it is correct.
    breach: str
    # Number of figures in the answer that no result supports.
    unsupported: int
    calls: int
    tokens: int
    lines: tuple[str, ...]


async def run_questions(
    folder: Path, agent: str, runtime: RuntimeSettings, out: Path, model: Model | None = None, workers: int = 1
) -> list[QuestionScore]:
    """Ask each question of a set in a new conversation on its model.

    Args:
        folder: Folder of the set.
        agent: ``gold``, ``T-P-P`` or ``lines``.
        runtime: Settings of the language model, and the budget.
        out: Folder of the records. A repeated call makes no new requests.
        model: Model to use. None means the model of the settings.
        workers: Number of questions that are asked in parallel.

    Raises:
        ConfigError: The set or the agent is unknown.
    """
    if agent not in AGENTS:
        raise ConfigError(f"unknown agent {agent[:40]!r}; expected one of {', '.join(AGENTS)}")
    questions = read_questions(folder)
    models = {name: read_indexed(folder / name) for name in dict.fromkeys(question.model for question in questions)}
    names = [f"question.{number:04d}" for number in range(len(questions))]
    async with AsyncExitStack() as stack:
        opened = open_study(out, runtime, model=model, is_asking=agent != GOLD, workers=workers)
        study = await stack.enter_async_context(opened)

        async def work(case: LedgerCase) -> dict[str, Any]:
            question = questions[names.index(case.name)]
            return await _answer(question, models[question.model], agent, case, out)

        finished = await study.run_cases(names, work)
        if study.stop_reason:
            raise ConfigError(f"stopped: {study.stop_reason}; repeat the command to continue")
        pairs = zip(questions, finished, strict=True)
        return [_score(question, case) for question, case in pairs if case is not None]


def _score(question: Question, case: FinishedCase) -> QuestionScore:
    result, spent = case.result, case.spent
    lines = tuple(result["lines"])
    return QuestionScore(question, result["breach"], result["unsupported"], spent.model_calls, spent.tokens, lines)


async def _answer(question: Question, model: IndexedModel, agent: str, case: LedgerCase, out: Path) -> dict[str, Any]:
    workbench = Workbench(model, SolveLimits(seconds=SOLVE_S))
    record = MessageRecord(said=question.question)
    breach = ""
    try:
        if agent == GOLD:
            record = LinesAgent(workbench, out).answer("\n".join(question.lines))
            breach = record.note if record.refused else ""
        elif agent == TOOLS:
            record = await OperationsAgent(workbench, case).answer(question.question)
        else:
            record = await LineWriter(workbench, case, out).answer(question.question)
    except OragentError as problem:
        breach = str(problem)
    results: Mapping[str, Any] = {result.id: result for result in record.results}
    return {
        "breach": breach or find_breach(question, results, record.parts if agent == TOOLS else None),
        "unsupported": sum(part.kind == "unsupported" for part in record.parts),
        "lines": [result.line for result in record.results],
        "answer": record.text,
    }


def print_scores(scores: Sequence[QuestionScore], console: Console) -> int:
    """Print a table by model, and each wrong answer; return 0 if all are right, else 3."""
    table = Table("model", "questions", "right", "calls", "tokens", "unsupported", box=SIMPLE_HEAD)
    groups: dict[str, list[QuestionScore]] = {}
    for score in scores:
        groups.setdefault(score.question.model, []).append(score)
    for name, group in [*groups.items(), ("all", list(scores))]:
        right = sum(not score.breach for score in group)
        sums = [sum(getattr(score, key) for score in group) for key in ("calls", "tokens", "unsupported")]
        table.add_row(name, str(len(group)), str(right), *map(str, sums))
    console.print(table)
    for score in scores:
        if score.breach:
            console.print(f"wrong: {score.question.question}: {score.breach}", markup=False, highlight=False)
    return 0 if all(not score.breach for score in scores) else 3


def bench_questions(
    folder: Path, agent: str, words: RuntimeWords, outputs: Path, console: Console, workers: int = 1
) -> int:
    """Run a set with settings of the command line, and print the table.

    Raises:
        ConfigError: The set or the agent is unknown, or the agent has no language model.
    """
    # Lines are run without a language model. Other benchmarks call this agent rules.
    name = GOLD if agent == LINES else agent
    runtime = words.read_runtime(("agent",))
    if name not in AGENTS:
        raise ConfigError(f"unknown agent {name[:40]!r} for questions; expected one of {', '.join(AGENTS)}")
    if name != GOLD and runtime.model is None:
        raise ConfigError(f"{name} needs a language model: add --model NAME")
    out = outputs / f"{folder.resolve().name}-{name}"
    return print_scores(asyncio.run(run_questions(folder, name, runtime, out, workers=workers)), console)
