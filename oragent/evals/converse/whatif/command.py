"""What ``oragent bench converse --whatif`` does: ask every question, count right answers by kind."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, MilpError, SandboxError
from oragent._base.files import file_stem
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import ROLE
from oragent.converse.decision import unknown_name_error
from oragent.evals.bench.driver import page_template, rich_table, save_text
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.whatif.agents import by_program, by_tools, read_change
from oragent.evals.converse.whatif.questions import (
    BASE,
    MODELS,
    AnswerStatus,
    Question,
    WhatIfAnswer,
    WhatIfChange,
    agrees_with_gold,
    change_of,
    plain_data,
    read_questions,
    solve_changed,
    variable_names,
)
from oragent.evals.requests import BenchRequest
from oragent.ledger import LedgerCase
from oragent.ledger.study import open_study
from oragent.llm.model import Model
from oragent.sandbox.messages import PYTHON, Command, Limits
from oragent.sandbox.sandbox import Sandbox

EXECUTING = Path(__file__).with_name("executing.py")
LIMITS = Limits(cpu_s=60.0, memory_mb=512, file_mb=32, processes=4, output_kb=64)
Gold = list[tuple[WhatIfAnswer | None, str]]


AGENTS = ("gold", "rules", "T-P-P", "C-P-P")
ASKING = AGENTS[2:]


def run_gold(questions: Sequence[Question], box: Sandbox) -> Gold:
    """Run the gold code and solve its changes on our models: answers, or None and why there is none."""
    requests = [_gold_request(question) for question in questions]
    files = {"executing.py": EXECUTING.read_text(encoding="utf-8"), "questions.json": json.dumps(requests)}
    ended = box(Command((PYTHON, "executing.py"), files, limits=LIMITS, bring=("changes.json",)), warm_up=EXECUTING)
    if "changes.json" not in ended.files:
        raise SandboxError(f"gold code could not be run: {ended.reason or ended.stderr.strip()[-200:]}")
    changes = json.loads(ended.files["changes.json"])
    return [_solve_gold(question, result) for question, result in zip(questions, changes, strict=True)]


def _gold_request(question: Question) -> dict[str, object]:
    data = BASE[question.model]
    sets: dict[str, list[str]] = {}
    if question.model == "coffee":
        sets = {
            "cafes": [key[0] for key in data["light_coffee_needed_for_cafe"]],
            "roasteries": [key[0] for key in data["roasting_cost_light"]],
            "suppliers": [key[0] for key in data["capacity_in_supplier"]],
        }
    elif question.model == "netflow":
        sets = {
            "commodities": list(dict.fromkeys(key[0] for key in data["inflow"])),
            "nodes": list(dict.fromkeys(key[1] for key in data["inflow"])),
        }
    return {
        "data": plain_data(question.model),
        "variables": variable_names(question.model),
        "sets": sets,
        "data_code": question.data_code,
        "row_code": question.row_code,
    }


def _solve_gold(question: Question, plain: object) -> tuple[WhatIfAnswer | None, str]:
    if isinstance(plain, dict) and "problem" in plain:
        return None, str(plain["problem"])[:300]
    try:
        return solve_changed(question.model, change_of(plain)), ""
    except (ConfigError, MilpError) as problem:
        return None, str(problem)


Answers = dict[str, list[WhatIfAnswer | None]]


@dataclass(frozen=True)
class WhatIfRequest(BenchRequest):
    """Request of ``bench converse --whatif``; ``models``: names of models, each with every agent that asks one."""

    folder: Path
    agents: Sequence[str]
    models: Sequence[str] = ()


def run_whatif(request: WhatIfRequest, console: Console, model: Model | None = None) -> int:
    """Ask all questions, print the table, write its page; the exit code is 3 where a study is unfinished, else 0."""
    for name in request.agents:
        if name not in AGENTS:
            raise unknown_name_error(name, AGENTS, "agent for what-if questions")
    if any(name in ASKING for name in request.agents) and not request.models and model is None:
        raise ConfigError("nobody is asked: name models with --models, or take gold or rules")
    questions = read_questions(request.folder)
    answers: Answers = {}
    unfinished = ""
    for name in request.agents:
        if name in ASKING:
            for model_name in request.models or ["model"]:
                key = f"{name}, {model_name}"
                answers[key], reason = asyncio.run(_by_model(request, name, model_name, questions, model))
                unfinished = unfinished or reason
        else:
            if name == "gold":
                answers[name] = _by_gold(questions, console)
            else:
                answers[name] = answers_by_rules(questions)
    table = by_kind(questions, answers)
    console.print(rich_table(table))
    for name, column in answers.items():
        right = sum(agrees_with_gold(answer, question.gold) for question, answer in zip(questions, column, strict=True))
        console.print(Text(f"{name}: {right} of {len(questions)}"), highlight=False)
    if unfinished:
        console.print(Text(f"unfinished: {unfinished}", style="bold red"), soft_wrap=True)
    path = _write_answers_page(request.outputs, table, questions, answers)
    console.print(f"report: {path}", highlight=False, markup=False, soft_wrap=True)
    if unfinished:
        return 3
    return 0


def answers_by_rules(questions: Sequence[Question]) -> list[WhatIfAnswer | None]:
    """The answers of the parser; equal changes are solved once."""
    parsed: dict[str, WhatIfAnswer | None] = {}
    answers = []
    for question in questions:
        change = read_change(question)
        key = f"{question.model} {change!r}"
        if key not in parsed:
            try:
                if change is None:
                    parsed[key] = None
                else:
                    parsed[key] = solve_changed(question.model, change)
            except (ConfigError, MilpError):
                # it names what the model has not: not understood
                parsed[key] = None
        answers.append(parsed[key])
    return answers


def by_kind(questions: Sequence[Question], answers: Mapping[str, Sequence[WhatIfAnswer | None]]) -> TextTable:
    """Right answers by model and kind, with the floor: always the result of the unchanged model."""
    base = {name: solve_changed(name, WhatIfChange()) for name in BASE}
    columns: dict[str, Mapping[tuple[str, str], Tally]] = {"floor": floor_answers(questions, base)}
    columns |= {name: count_answers(questions, kinds) for name, kinds in answers.items()}
    rows = []
    for kind, counted in columns["floor"].items():
        cells = [str(column[kind].right) for column in columns.values()]
        rows.append((" ".join(kind), str(counted.asked), *cells))
    for name in [*MODELS, ""]:
        kinds = [kind for kind in columns["floor"] if name in ("", kind[0])]
        count = sum(columns["floor"][kind].asked for kind in kinds)
        cells = [str(sum(column[kind].right for kind in kinds)) for column in columns.values()]
        rows.append((f"all {name}".strip(), str(count), *cells))
    return TextTable(("kind", "asked", *columns), tuple(rows))


def _by_gold(questions: Sequence[Question], console: Console) -> list[WhatIfAnswer | None]:
    with Sandbox(1) as box:
        answers = run_gold(questions, box)
    for question, (answer, problem) in zip(questions, answers, strict=True):
        if not agrees_with_gold(answer, question.gold):
            difference = f"{question.model} {question.number}: {problem or answer} and not {question.gold}"
            console.print(Text(difference, style="yellow"), soft_wrap=True)
    return [answer for answer, _ in answers]


async def _by_model(
    request: WhatIfRequest, name: str, model: str, questions: Sequence[Question], stand_in: Model | None
) -> tuple[list[WhatIfAnswer | None], str]:
    cases = {f"{question.model}-{question.number:03d}": question for question in questions}
    async with AsyncExitStack() as stack:
        workers, runtime = request.workers, request.words.name_model(model, (ROLE,))
        folder = request.outputs / "whatif" / name / file_stem(model, allowed=r"\w-", each=True)
        opening = open_study(folder, runtime, model=stand_in, workers=workers)
        study = await stack.enter_async_context(opening)
        guests = Guests(stack.enter_context(Sandbox(workers)))

        async def answer_case(case: LedgerCase) -> Any:
            question = cases[case.name]
            answer = await (by_tools(question, case) if name == "T-P-P" else by_program(question, case, guests))
            if answer is None:
                return None
            return asdict(answer)

        await study.run_cases(list(cases), answer_case)
        results = {case.name: case.result for case in study.finished_cases()}
        found = [results.get(name) for name in cases]
        answers = [one and WhatIfAnswer(AnswerStatus(one["status"]), one["objective"]) for one in found]
        return answers, study.stop_reason


def _write_answers_page(outputs: Path, table: TextTable, questions: Sequence[Question], answers: Answers) -> Path:
    """Write ``whatif.html``: the table, and each question that somebody answered wrongly."""
    wrong = [
        (name, question, answer)
        for name, agent_answers in answers.items()
        for question, answer in zip(questions, agent_answers, strict=True)
        if not agrees_with_gold(answer, question.gold)
    ]
    template = page_template(Path(__file__), "whatif.html")
    return save_text(outputs / "whatif.html", template.render(table=table, wrong=wrong, asked=len(questions)))


@dataclass(frozen=True)
class Tally:
    """How many answers are right."""

    right: int
    asked: int


def count_answers(
    questions: Sequence[Question], answers: Iterable[WhatIfAnswer | None]
) -> dict[tuple[str, str], Tally]:
    """Count right answers by model and kind of question, in the order of the questions."""
    counted: dict[tuple[str, str], Tally] = {}
    for question, answer in zip(questions, answers, strict=True):
        key = (question.model, question.kind)
        earlier = counted.get(key, Tally(0, 0))
        counted[key] = Tally(earlier.right + agrees_with_gold(answer, question.gold), earlier.asked + 1)
    return counted


def floor_answers(questions: Sequence[Question], base: Mapping[str, WhatIfAnswer]) -> dict[tuple[str, str], Tally]:
    """Count the right answers if the unchanged model's result is always given: the floor of every table."""
    return count_answers(questions, [base[question.model] for question in questions])
