"""Command ``oragent bench converse``: plan, run or resume, print tables, write a report and transcripts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from oragent._base.errors import ConfigError, StoreError
from oragent._base.text_format import escape_text, one_line
from oragent.evals.bench.driver import page_template
from oragent.evals.bench.plan import BenchCell, BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.ledger.study import FinishedCase
from oragent.report.pages.charts import Drawing, fit_label, new_figure, render_figure
from oragent_benchmarks.converse import tables
from oragent_benchmarks.converse.agents.model_agents import expect_fitting_agent
from oragent_benchmarks.converse.benchmark import DECIDERS, TERMS, UTILITIES, ConverseBenchmark
from oragent_benchmarks.converse.conversation import LIMIT, ConversationResult, Stopping
from oragent_benchmarks.converse.decision import DecisionProblem, unknown_name_error
from oragent_benchmarks.converse.evaluable_problems import (
    published_of,
    read_utility_file,
    stakeholders_of,
    write_utility_file,
)
from oragent_benchmarks.converse.paradigms import list_contestants
from oragent_benchmarks.converse.stakeholders import Stakeholder
from oragent_benchmarks.converse.talking_decider import Feedback, Knowing, Style, decider_prompt
from oragent_benchmarks.converse.transcript import transcript_page
from oragent_benchmarks.driver import BenchCommand, Line, save_text
from oragent_benchmarks.requests import BenchRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#66737D")
MAX_DRAWN = 7
CAPTIONS = {
    "scores": "Distribution of scores by contestant.",
    "lengths": "Distribution of lengths: messages of the decision agent.",
    "successes": "Share of conversations that reached the maximum by so many turns.",
    "styles": "Distribution of scores by style.",
}
MAX_LISTED = 2000
BINS = 20


MANIFEST = Manifest("converse-bench.yaml", TERMS, free=("workers", "timeout_s"))


def write_page(folder: Path, bench: ConverseBenchmark, contestants: Sequence[tables.MeasuredContestant]) -> Path:
    """Write ``report.html``, and a page for each transcript that has none."""
    links: dict[tuple[str, str], str] = {}
    for number, contestant in enumerate(contestants, 1):
        for case in contestant.cases:
            if case.result["turns"]:
                link = links[contestant.name, case.name] = f"transcripts/{number:02d}-{case.name}.html"
                if not (folder / link).is_file():
                    save_text(folder / link, _render_transcript(bench, contestant, case))
    return save_text(folder / "report.html", render_page(bench, contestants, links))


def render_page(
    bench: ConverseBenchmark, contestants: Sequence[tables.MeasuredContestant], links: Mapping[tuple[str, str], str]
) -> str:
    """Return the page with tables and figures as HTML."""
    word, printed = bench.problem.vocabulary.decision, published_of(bench.problem)
    ends = f"Published: by the maximum / by itself / at the limit, of {printed.conversations}." if printed.ends else ""
    parts = [
        (
            "Contestants",
            f"Mean score: utility of the best {word} shown over the greatest possible.",
            tables.contestant_table(contestants),
        ),
        ("Paradigms", "Score / success in percent.", tables.paradigm_table(contestants)),
        ("Agents by style and feedback", "Score / success in percent, and turns.", tables.agent_table(contestants)),
        ("Models", "T-P-P against C-N-R.", tables.model_table(contestants)),
        (
            "One-sided tests",
            "Paired sign-flip test of scores, exact McNemar test of success, adjusted by Holm.",
            tables.contrast_table(contestants),
        ),
        ("Ends", ends, tables.end_table(contestants, word)),
        ("Audit", "Counts over all conversations of a contestant.", tables.audit_table(contestants)),
        *((title, "", table) for title, table in tables.group_tables(contestants)),
    ]
    return page_template(Path(__file__)).render(
        problem=bench.problem.name,
        decision=word,
        published=printed.note,
        utilities=len(bench.stakeholders),
        settings=dict(bench.plan.settings),
        tables=[part for part in parts if part[2].rows],
        figures=_draw_figures(contestants),
        rows=_list_conversations(contestants, links),
        count_all=sum(len(contestant.cases) for contestant in contestants),
    )


def _list_conversations(
    contestants: Sequence[tables.MeasuredContestant], links: Mapping[tuple[str, str], str]
) -> list[dict[str, Any]]:
    """Return one row per conversation; conversations with audit findings come first."""
    rows = [
        {
            "contestant": contestant.name,
            "name": case.name,
            "link": links.get((contestant.name, case.name), ""),
            "score": case.result["score"],
            "end": case.result["end"],
            "turns": len(case.result["turns"]),
            "found": sorted({finding["kind"].replace("_", " ") for finding in case.result["findings"]}),
        }
        for contestant in contestants
        for case in contestant.cases
    ]
    return sorted(rows, key=lambda row: -len(row["found"]))[:MAX_LISTED]


def _render_transcript(bench: ConverseBenchmark, contestant: tables.MeasuredContestant, case: FinishedCase) -> str:
    result = case.result
    stakeholder = bench.stakeholders[int(result["utility"])]
    facts = dict(stakeholder.profile.facts) | {key: result[key] for key in ("role", "style", "feedback") if result[key]}
    hidden = stakeholder.profile.utility
    if result["style"]:
        cell = BenchCell(next(iter(bench.plan.subjects)), contestant.name, bench.plan.seeds[0])
        persona = bench.persona(cell, case.name, bench.settings.seed)
        hidden = decider_prompt(bench.problem, stakeholder, persona)
    title, outcome = f"{contestant.name}: {case.name}", ConversationResult.from_plain(result)
    return transcript_page(bench.problem, title, contestant.agent, outcome, facts, hidden, result["findings"])


def _draw_figures(contestants: Sequence[tables.MeasuredContestant]) -> list[Drawing]:
    shown = [contestant for contestant in contestants if contestant.cases][:MAX_DRAWN]
    talking = [contestant for contestant in shown if any(case.result["turns"] for case in contestant.cases)]
    styles = {case.result["style"] for contestant in talking for case in contestant.cases} - {""}
    scores = {contestant.name: [case.result["score"] for case in contestant.cases] for contestant in shown}
    lengths = {
        contestant.name: [float(len(case.result["turns"])) for case in contestant.cases] for contestant in talking
    }
    by_style = {
        f"{contestant.name}, {style}": [
            case.result["score"] for case in contestant.cases if case.result["style"] == style
        ]
        for contestant in talking[:3]
        for style in ("vague", "precise")
    }
    drawn: dict[str, Callable[[], Figure]] = {}
    if shown:
        drawn["scores"] = partial(_draw_histograms, scores, "score", 1.0)
    if talking:
        drawn["lengths"] = partial(_draw_histograms, lengths, "messages", float(LIMIT))
        drawn["successes"] = partial(_draw_successes, talking)
    if len(styles) > 1:
        drawn["styles"] = partial(_draw_histograms, by_style, "score", 1.0)
    return [render_figure(name, CAPTIONS[name], draw) for name, draw in drawn.items()]


def _draw_histograms(values: Mapping[str, Sequence[float]], what: str, upper: float) -> "Figure":
    figure = new_figure(6.2, 0.7 + 0.75 * len(values))
    panels = figure.subplots(len(values), 1, squeeze=False, sharex=True).ravel()
    for axes, (name, sample), color in zip(panels, values.items(), COLORS * len(values), strict=False):
        axes.hist(sample, bins=BINS, range=(0.0, upper), color=color)
        axes.set_title(fit_label(name, 60), fontsize=8)
        axes.yaxis.set_major_locator(axes.yaxis.get_major_locator())
    panels[-1].set_xlabel(what)
    return figure


def _draw_successes(contestants: Sequence[tables.MeasuredContestant]) -> "Figure":
    figure = new_figure(6.2, 3.0)
    axes = figure.subplots()
    for contestant, color in zip(contestants, COLORS, strict=False):
        reached = [0] * (LIMIT + 1)
        for result in (case.result for case in contestant.cases):
            best = (max(turn["values"], default=-1.0) for turn in result["turns"])
            first = next((number for number, value in enumerate(best, 1) if value >= result["maximum"] - 1e-9), None)
            if first is not None:
                reached[min(first, LIMIT)] += 1
        share = [100 * count / len(contestant.cases) for count in accumulate(reached)]
        axes.step(range(LIMIT + 1), share, where="post", color=color, label=fit_label(contestant.name, 40))
    axes.set(xlabel="turns", ylabel="reached the maximum, %", ylim=(-3, 103))
    axes.legend(frameon=False, fontsize=7)
    return figure


@dataclass(frozen=True)
class ConverseBenchRequest(BenchRequest):
    """Request of ``bench converse``."""

    # Problem of the conversations: its name, or a problem of the user. Empty means the problem of the folder.
    problem: str | DecisionProblem = ""
    # Names for the next fields; all their combinations are contestants.
    agents: Sequence[str] = ()
    paradigms: Sequence[str] = ("conversation",)
    models: Sequence[str] = ()
    tools: Sequence[str] = ("paper",)
    ablate: Sequence[str] = ()
    # ``all``, ``paper``, a number, or a file.
    utilities: str = "all"
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    # Folder of an evaluation of the same plan whose recorded replies are used. None means that models are called.
    replay: Path | None = None
    # True if the plan of the folder is continued with a problem of the user.
    is_continued: bool = False


def run_bench(request: ConverseBenchRequest, console: Console) -> int:
    """Run the missing conversations of an evaluation, print its tables and write its pages. Return the exit code."""
    folder = request.outputs
    has_plan = request.is_continued or not request.problem
    plan = MANIFEST.read_plan(folder) if has_plan else _plan(request)
    own_problem = None if isinstance(request.problem, str) else request.problem
    bench = ConverseBenchmark(
        plan, request.workers, words=request.words, replay=request.replay, folder=folder, given=own_problem
    )
    for agent in request.agents if request.problem else ():
        expect_fitting_agent(agent, bench.problem)
    # This check runs before any file is written.
    warnings, new = _utilities(bench.problem, plan, folder)
    bench.chosen = new

    def write_utilities() -> None:
        if new is not None:
            source = f"{plan.settings['utilities']}, seed {plan.settings['seed']}"
            write_utility_file(folder / UTILITIES, bench.problem, new, source)
            # From here on the utilities are those of the file, as in a resumed evaluation.
            bench.chosen = None
            vars(bench).pop("stakeholders", None)
        for line in warnings:
            console.print(Text(escape_text(line), style="yellow"), soft_wrap=True)

    return COMMAND.run(bench, folder, console, write_utilities, request.confirm)


def _show_results(bench: ConverseBenchmark, folder: Path) -> Iterator[Line | TextTable]:
    for title, table in tables.terminal_tables(tables.measure_contestants(bench)):
        yield Line(f"\n{title}", "bold")
        yield table


COMMAND = BenchCommand(
    MANIFEST,
    lambda plan, folder: ConverseBenchmark(plan, folder=folder),
    _show_results,
    lambda bench, folder: write_page(folder, bench, tables.measure_contestants(bench)),
)
show_bench = COMMAND.show_folder


def _plan(request: ConverseBenchRequest) -> BenchPlan:
    settings: dict[str, Any] = {
        "styles": ["vague", "precise"],
        "feedback": ["binary", "rich"],
        "decider": "llm",
        "stopping": "threshold",
        "knowing": "tool",
        "utilities": request.utilities,
        "seed": request.seed,
    }
    settings |= {name: value for name, value in request.settings.items() if value is not None}
    choices: tuple[tuple[str, Sequence[str], str], ...] = (
        ("styles", list(Style), "style"),
        ("feedback", list(Feedback), "feedback"),
        ("decider", DECIDERS, "decider"),
        ("stopping", list(Stopping), "way of stopping"),
        ("knowing", list(Knowing), "way of knowing a utility"),
    )
    for name, choosable, what in choices:
        for value in settings[name] if isinstance(settings[name], list) else [settings[name]]:
            if value not in choosable:
                raise unknown_name_error(str(value), [str(contestant) for contestant in choosable], what)
    agents = request.agents or ["rules"]
    contestants = list_contestants(agents, request.paradigms, request.models, request.tools, request.ablate)
    talking = settings["decider"] == "llm" and any(contestant["agent"] for contestant in contestants.values())
    if talking and not settings.get("decider_model"):
        is_asking = any(contestant["model"] for contestant in contestants.values())
        if not is_asking and not request.models:
            raise ConfigError("the decision agent needs a model: add --model, or choose --decider rational or myopic")
        if not is_asking or len(request.models) > 1:
            # The decider's model stays fixed while the agents' models vary.
            settings["decider_model"] = request.models[0]
    name = request.problem if isinstance(request.problem, str) else request.problem.name
    return BenchPlan(TERMS, {name: None}, contestants, (request.seed,), settings)


def _utilities(
    problem: DecisionProblem, plan: BenchPlan, folder: Path
) -> tuple[tuple[str, ...], Sequence[Stakeholder] | None]:
    """Return warnings about the utilities, and the utilities to write into the folder.

    None if the folder has them already.
    """
    path = folder / UTILITIES
    if path.is_file():
        return read_utility_file(path, problem).warnings, None
    chosen, warnings = _chosen(str(plan.settings["utilities"]), plan.settings["seed"], problem)
    return warnings, chosen


def _chosen(spec: str, seed: int, problem: DecisionProblem) -> tuple[Sequence[Stakeholder], tuple[str, ...]]:
    stakeholders = stakeholders_of(problem)
    if spec not in ("all", "paper") and not spec.isdecimal():
        if not Path(spec).is_file():
            raise StoreError(f"unknown utilities {spec[:80]!r}; expected all, paper, a number or a file")
        utilities = read_utility_file(Path(spec), problem)
        return utilities.stakeholders, utilities.warnings
    if spec.isdecimal() and not int(spec):
        raise ConfigError("0 utilities: expected 1 or more, at most as many as the problem has")
    paper = published_of(problem).utilities
    if spec == "paper" and not paper:
        name = one_line(problem.name, 60)
        raise ConfigError(f"no utilities of {name} were published; expected all, a number or a file")
    rng = np.random.default_rng(seed)
    every = stakeholders.generated(rng)
    count = {"all": len(every), "paper": paper}.get(spec) or int(spec or 0)
    if not 1 <= count <= len(every):
        raise ConfigError(f"{count} utilities: expected 1 to {len(every)}")
    indices = sorted(rng.choice(len(every), size=count, replace=False).tolist()) if count < len(every) else range(count)
    return [every[index] for index in indices], ()
