"""What ``oragent bench converse --whatif`` does: ask every question, count right answers by kind."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, MilpError, StoreError
from oragent._base.files import replace
from oragent.converse.agents.guests import Guests
from oragent.converse.decision import unknown_name_error
from oragent.evals.bench.board import rich_table
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.whatif.agents import by_program, by_tools
from oragent.evals.converse.whatif.answers import AnswerStatus, WhatIfAnswer, agrees
from oragent.evals.converse.whatif.gold import gold
from oragent.evals.converse.whatif.parser import read_change
from oragent.evals.converse.whatif.questions import MODELS, Question, read
from oragent.evals.converse.whatif.tallies import Tally, floor, tally
from oragent.evals.converse.whatif.textbooks import BASE, WhatIfChange, answered
from oragent.ledger import LedgerCase, Study
from oragent.llm.factory import models as models_of
from oragent.llm.model import Model
from oragent.llm.model_settings import ModelSettings
from oragent.report.pages.html import environment
from oragent.sandbox.border import Sandbox

AGENTS = ("gold", "rules", "T-P-P", "C-P-P")
ASKING = AGENTS[2:]
Answers = dict[str, list[WhatIfAnswer | None]]


def run_whatif(
    folder: Path, agents: Sequence[str], asked: Sequence[str], outputs: Path, workers: int, console: Console,
    model: Model | None = None,
) -> int:  # fmt: skip
    """Ask all questions, print the table and write its page.

    Returns:
        Exit code: 0 where all was asked, 3 where a study was left unfinished.

    Raises:
        OragentError: An agent is unknown, nobody is asked, or a file cannot be read.
    """
    for name in agents:
        if name not in AGENTS:
            raise unknown_name_error(name, AGENTS, "agent for what-if questions")
    if any(name in ASKING for name in agents) and not asked and model is None:
        raise ConfigError("nobody is asked: name models with --models, or take gold or rules")
    questions = read(folder)
    found: Answers = {}
    unfinished = ""
    for name in agents:
        if name in ASKING:
            for own in asked or ["model"]:
                key = f"{name}, {own}"
                found[key], reason = asyncio.run(_by_model(name, own, questions, outputs, workers, model))
                unfinished = unfinished or reason
        else:
            found[name] = _by_gold(questions, console) if name == "gold" else answers_by_rules(questions)
    table = by_kind(questions, found)
    console.print(rich_table(table))
    for name, column in found.items():
        right = sum(agrees(answer, question.gold) for question, answer in zip(questions, column, strict=True))
        console.print(Text(f"{name}: {right} of {len(questions)}"), highlight=False)
    if unfinished:
        console.print(Text(f"unfinished: {unfinished}", style="bold red"), soft_wrap=True)
    console.print(f"report: {_page(outputs, table, questions, found)}", highlight=False, markup=False, soft_wrap=True)
    return 3 if unfinished else 0


def answers_by_rules(questions: Sequence[Question]) -> list[WhatIfAnswer | None]:
    """The answers of the parser; equal changes are solved once."""
    known: dict[str, WhatIfAnswer | None] = {}
    answers = []
    for question in questions:
        change = read_change(question)
        key = f"{question.model} {change!r}"
        if key not in known:
            known[key] = None if change is None else _solved(question.model, change)
        answers.append(known[key])
    return answers


def by_kind(questions: Sequence[Question], found: Mapping[str, Sequence[WhatIfAnswer | None]]) -> TextTable:
    """Right answers by model and kind, with the floor: always the result of the unchanged model."""
    base = {name: answered(name, WhatIfChange()) for name in BASE}
    columns: dict[str, Mapping[tuple[str, str], Tally]] = {"floor": floor(questions, base)}
    columns |= {name: tally(questions, own) for name, own in found.items()}
    rows = []
    for kind, counted in columns["floor"].items():
        cells = [str(column[kind].right) for column in columns.values()]
        rows.append((" ".join(kind), str(counted.asked), *cells))
    for name in [*MODELS, ""]:
        own = [kind for kind in columns["floor"] if name in ("", kind[0])]
        asked = sum(columns["floor"][kind].asked for kind in own)
        cells = [str(sum(column[kind].right for kind in own)) for column in columns.values()]
        rows.append((f"all {name}".strip(), str(asked), *cells))
    return TextTable(("kind", "asked", *columns), tuple(rows))


def _by_gold(questions: Sequence[Question], console: Console) -> list[WhatIfAnswer | None]:
    with Sandbox(1) as box:
        found = gold(questions, box)
    for question, (answer, problem) in zip(questions, found, strict=True):
        if not agrees(answer, question.gold):
            told = f"{question.model} {question.number}: {problem or answer} and not {question.gold}"
            console.print(Text(told, style="yellow"), soft_wrap=True)
    return [answer for answer, _ in found]


async def _by_model(
    name: str, model: str, questions: Sequence[Question], outputs: Path, workers: int, given: Model | None
) -> tuple[list[WhatIfAnswer | None], str]:
    cases = {f"{question.model}-{question.number:03d}": question for question in questions}
    async with AsyncExitStack() as stack:
        asked: Model = given if given is not None else await stack.enter_async_context(models_of(ModelSettings(model)))
        place = outputs / "whatif" / name / "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in model)
        study = stack.enter_context(Study(place, {"": asked}, Budget(evaluations=None), workers=workers))
        guests = Guests(stack.enter_context(Sandbox(workers)))

        async def work(case: LedgerCase) -> Any:
            question = cases[case.name]
            answer = await (by_tools(question, case) if name == "T-P-P" else by_program(question, case, guests))
            return None if answer is None else asdict(answer)

        await study.run(list(cases), work)
        done = {one.name: one.result for one in study.finished()}
        return [_answer(done.get(name)) for name in cases], study.reason


def _answer(plain: Mapping[str, Any] | None) -> WhatIfAnswer | None:
    return None if plain is None else WhatIfAnswer(AnswerStatus(plain["status"]), plain["objective"])


def _solved(model: str, change: WhatIfChange) -> WhatIfAnswer | None:
    try:
        return answered(model, change)
    except (ConfigError, MilpError):  # it names what the model has not: not understood
        return None


def _page(outputs: Path, table: TextTable, questions: Sequence[Question], found: Answers) -> Path:
    """Write ``whatif.html``: the table, and each question that somebody answered wrongly."""
    wrong = [
        (name, question, answer)
        for name, own in found.items()
        for question, answer in zip(questions, own, strict=True)
        if not agrees(answer, question.gold)
    ]
    folders = Path(__file__).parent, Path(__file__).parents[2] / "bench"
    text = environment(*folders).get_template("whatif.html").render(table=table, wrong=wrong, asked=len(questions))
    try:
        outputs.mkdir(parents=True, exist_ok=True)
        replace(outputs / "whatif.html", text)
    except OSError as problem:
        raise StoreError(f"cannot write into {outputs}: {problem}") from None
    return outputs / "whatif.html"
