"""What ``oragent bench converse`` does: plan, hold or go on, tables, page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, StoreError
from oragent._base.plain import escape_text, one_line
from oragent.converse.conversation import Stopping
from oragent.converse.decision import DecisionProblem, unknown_name_error
from oragent.evals.bench.driver import BenchCommand, Line
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.benchmark import DECIDERS, TERMS, UTILITIES, ConverseBenchmark
from oragent.evals.converse.evaluable_problems import published_of, stakeholders_of
from oragent.evals.converse.page import write_page
from oragent.evals.converse.paradigms import list_contestants
from oragent.evals.converse.stakeholders import Stakeholder
from oragent.evals.converse.tables import measure_contestants, terminal_tables
from oragent.evals.converse.talking_decider import Feedback, Knowing, Style
from oragent.evals.converse.utility_files import read_utility_file, write_utility_file
from oragent.evals.requests import BenchRequest

MANIFEST = Manifest("converse-bench.yaml", TERMS, free=("workers", "timeout_s"))


@dataclass(frozen=True)
class ConverseBenchRequest(BenchRequest):
    """Request of ``bench converse``.

    Attributes:
        problem: Problem that is talked about: its name, or one of one's own; empty for that of the folder.
        agents, paradigms, models, tools, ablate: Names; of contestants every combination takes part.
        utilities: ``all``, ``paper``, a number, or a file.
        settings: Styles, feedback, decider, its model and more, by name.
        seed: Seed of utilities, roles and cases.
        replay: Folder of an evaluation of the same plan whose replies are given again; None to ask.
    """

    problem: str | DecisionProblem = ""
    agents: Sequence[str] = ()
    paradigms: Sequence[str] = ("conversation",)
    models: Sequence[str] = ()
    tools: Sequence[str] = ("paper",)
    ablate: Sequence[str] = ()
    utilities: str = "all"
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    replay: Path | None = None


def run_bench(request: ConverseBenchRequest, console: Console) -> int:
    """Hold what is missing of an evaluation, print its tables, write its pages; return the exit code.

    Raises:
        OragentError: The plan is wrong, or a file cannot be read.
    """
    folder = request.outputs
    plan = _plan(request) if request.problem else MANIFEST.read_plan(folder)
    given = None if isinstance(request.problem, str) else request.problem
    bench = ConverseBenchmark(plan, folder, request.workers, replay=request.replay, given=given, words=request.words)
    warnings, new = _utilities(bench.problem, plan, folder)  # checked before anything is written

    def write_utilities() -> None:
        if new is not None:
            source = f"{plan.settings['utilities']}, seed {plan.settings['seed']}"
            write_utility_file(folder / UTILITIES, bench.problem, new, source)
        for line in warnings:
            console.print(Text(escape_text(line), style="yellow"), soft_wrap=True)

    return COMMAND.run(bench, folder, console, write_utilities)


def show_bench(folder: Path, console: Console, *, write: bool = True) -> int:
    """Print the tables of an evaluation as far as it is done, and write its page if wanted; return the exit code."""
    return COMMAND.show_folder(folder, console, write=write)


def _show_results(bench: ConverseBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    for title, table in terminal_tables(measure_contestants(bench)):
        yield Line(f"\n{title}", "bold")
        yield table


def _write_page(bench: ConverseBenchmark, folder: Path) -> Path:
    return write_page(folder, bench, measure_contestants(bench))


COMMAND = BenchCommand(MANIFEST, ConverseBenchmark, _show_results, _write_page)


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
