"""What ``oragent bench converse`` does: plan, hold or go on, tables, page."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, StoreError
from oragent._base.plain import escape_text, one_line
from oragent.converse.conversation import Stopping
from oragent.converse.decision import DecisionProblem, unknown_name_error
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.execute import execute_plan
from oragent.evals.bench.manifest import Manifest
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.converse.benchmark import DECIDERS, MODEL_ROLES, TERMS, UTILITIES, ConverseBenchmark
from oragent.evals.converse.evaluable_problems import published_of, stakeholders_of
from oragent.evals.converse.measured import measure_contestants
from oragent.evals.converse.page import write_page
from oragent.evals.converse.paradigms import list_contestants
from oragent.evals.converse.stakeholders import Stakeholder
from oragent.evals.converse.tables import terminal_tables
from oragent.evals.converse.talking_decider import Feedback, Knowing, Style
from oragent.evals.converse.utility_files import read_utility_file, write_utility_file
from oragent.llm.runtime_settings import RuntimeWords

MANIFEST = Manifest("converse-bench.yaml", TERMS, free=("workers", "timeout_s"))
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes


@dataclass(frozen=True)
class ConverseBenchRequest:
    """What the command line says.

    Attributes:
        outputs: Folder of the evaluation.
        problem: Problem that is talked about: its name, or one of one's own; empty for that of the folder.
        agents, paradigms, models, tools, ablate: Names; of contestants every combination takes part.
        utilities: ``all``, ``paper``, a number, or a file.
        settings: Styles, feedback, decider, its model and more, by name.
        seed: Seed of utilities, roles and cases.
        workers: Conversations at once.
        calls: Most calls of models, a contestant; None for no limit.
        words: Settings of models and budget for all contestants, such as ``model.base_url=URL``.
        replay: Folder of an evaluation of the same plan whose replies are given again; None to ask.
    """

    outputs: Path
    problem: str | DecisionProblem = ""
    agents: Sequence[str] = ()
    paradigms: Sequence[str] = ("conversation",)
    models: Sequence[str] = ()
    tools: Sequence[str] = ("paper",)
    ablate: Sequence[str] = ()
    utilities: str = "all"
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    workers: int = 1
    calls: int | None = None
    replay: Path | None = None
    words: RuntimeWords = field(default_factory=RuntimeWords)


def run_bench(request: ConverseBenchRequest, console: Console) -> int:
    """Hold what is missing of an evaluation, print its tables, write its pages.

    Returns:
        Exit code: 0 where all is done, 3 where not, 130 where a person stopped it.

    Raises:
        OragentError: The plan is wrong, or a file cannot be read.
    """
    folder = request.outputs
    plan = _plan(request) if request.problem else MANIFEST.read_plan(folder)
    bench = ConverseBenchmark(plan, folder, request.workers, read_budget(request))
    bench.replay, bench.words = request.replay, request.words
    bench.given = None if isinstance(request.problem, str) else request.problem
    warnings, new = _utilities(bench.problem, plan, folder)  # checked before anything is written
    MANIFEST.write_plan(plan, folder)
    if new is not None:
        write_utility_file(
            folder / UTILITIES, bench.problem, new, f"{plan.settings['utilities']}, seed {plan.settings['seed']}"
        )
    for line in warnings:
        console.print(Text(escape_text(line), style="yellow"), soft_wrap=True)
    stopped = False
    with Board(plan) as board:
        bench.note = board.show_progress
        for done in execute_plan(plan, bench, folder):
            board.report_cell(done)
            stopped = done.end.stopped
    complete = _print_tables(bench, folder, console, write=True)
    return STOPPED if stopped else COMPLETE if complete else UNFINISHED


def show_bench(folder: Path, console: Console, *, write: bool = True) -> int:
    """Print the tables of an evaluation as far as it is done; nobody is asked.

    Args:
        folder: Folder of the evaluation.
        console: Console to print on.
        write: Whether its page is written too.

    Returns:
        Exit code: 0 where all is done, 3 where not.
    """
    bench = ConverseBenchmark(MANIFEST.read_plan(folder), folder, 1, Budget(evaluations=None))
    return COMPLETE if _print_tables(bench, folder, console, write=write) else UNFINISHED


def _print_tables(bench: ConverseBenchmark, folder: Path, console: Console, *, write: bool) -> bool:
    """Print the tables, write the page; return whether all is done."""
    found = measure_contestants(bench)
    for title, table in terminal_tables(found):
        console.print(Text(f"\n{title}", style="bold"))
        console.print(rich_table(table))
    if write:
        page = write_page(folder, bench, found)
        console.print(f"report: {page}", highlight=False, markup=False, soft_wrap=True)
    return all(bench.is_complete(cell, folder) for cell in bench.plan.cells)


def read_budget(request: ConverseBenchRequest) -> Budget:
    """Return the budget of each contestant.

    Raises:
        ConfigError: A setting is unknown, or names a model: contestants do that.
    """
    if any(word.startswith("model.name=") for word in request.words.words):
        raise ConfigError("model.name is no setting of an evaluation: name contestants with --models")
    named = {"model.name": "of a contestant", "budget.model_calls": request.calls}
    return replace(request.words, shortcuts=named).read_runtime(MODEL_ROLES).budget


def _plan(request: ConverseBenchRequest) -> BenchPlan:
    settings: dict[str, Any] = {
        "styles": ["vague", "precise"], "feedback": ["binary", "rich"], "decider": "llm", "stopping": "threshold",
        "knowing": "tool", "utilities": request.utilities, "seed": request.seed,
    }  # fmt: skip
    settings |= {name: value for name, value in request.settings.items() if value is not None}
    choices: tuple[tuple[str, Sequence[str], str], ...] = (
        ("styles", list(Style), "style"), ("feedback", list(Feedback), "feedback"), ("decider", DECIDERS, "decider"),
        ("stopping", list(Stopping), "way of stopping"), ("knowing", list(Knowing), "way of knowing a utility"),
    )  # fmt: skip
    for name, known, what in choices:
        for value in settings[name] if isinstance(settings[name], list) else [settings[name]]:
            if value not in known:
                raise unknown_name_error(str(value), [str(one) for one in known], what)
    agents = request.agents or ["rules"]
    own = list_contestants(agents, request.paradigms, request.models, request.tools, request.ablate)
    talking = settings["decider"] == "llm" and any(one["agent"] for one in own.values())
    if talking and not settings.get("decider_model") and not any(one["model"] for one in own.values()):
        raise ConfigError("nobody plays the decision agent: name --decider-model, or take --decider rational or myopic")
    if talking and not settings.get("decider_model") and len(request.models) > 1:
        settings["decider_model"] = request.models[0]  # held fixed while the agents' models vary
    name = request.problem if isinstance(request.problem, str) else request.problem.name
    return BenchPlan(TERMS, {name: None}, own, (request.seed,), settings)


def _utilities(
    problem: DecisionProblem, plan: BenchPlan, folder: Path
) -> tuple[tuple[str, ...], Sequence[Stakeholder] | None]:
    """Warnings about the utilities, and those to write into the folder; None where they are there."""
    path = folder / UTILITIES
    if path.is_file():
        return read_utility_file(path, problem).warnings, None
    chosen, warnings = _chosen(str(plan.settings["utilities"]), plan.settings["seed"], problem)
    return warnings, chosen


def _chosen(spec: str, seed: int, problem: DecisionProblem) -> tuple[Sequence[Stakeholder], tuple[str, ...]]:
    known = stakeholders_of(problem)
    if spec not in ("all", "paper") and not spec.isdecimal():
        if not Path(spec).is_file():
            raise StoreError(f"no utilities {spec[:80]!r}: expected all, paper, a number or a file of them")
        found = read_utility_file(Path(spec), problem)
        return found.stakeholders, found.warnings
    if spec.isdecimal() and not int(spec):
        raise ConfigError("0 utilities: expected 1 or more, at most as many as the problem has")
    paper = published_of(problem).utilities
    if spec == "paper" and not paper:
        name = one_line(problem.name, 60)
        raise ConfigError(f"no utilities of {name} were published: expected all, a number or a file of them")
    rng = np.random.default_rng(seed)
    every = known.generated(rng)
    count = {"all": len(every), "paper": paper}.get(spec) or int(spec or 0)
    if not 1 <= count <= len(every):
        raise ConfigError(f"{count} utilities: expected 1 to {len(every)}")
    kept = sorted(rng.choice(len(every), size=count, replace=False).tolist()) if count < len(every) else range(count)
    return [every[place] for place in kept], ()
