"""The pages of an evaluation: one with tables and figures, one a transcript."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from oragent.converse.conversation import LIMIT, ConversationResult
from oragent.converse.transcript import transcript_page
from oragent.evals.bench.driver import page_template, save_text
from oragent.evals.bench.plan import BenchCell
from oragent.evals.converse.benchmark import ConverseBenchmark
from oragent.evals.converse.evaluable_problems import published_of
from oragent.evals.converse.tables import (
    MeasuredContestant,
    agent_table,
    audit_table,
    contestant_table,
    contrast_table,
    end_table,
    group_tables,
    model_table,
    paradigm_table,
)
from oragent.evals.converse.talking_decider import decider_prompt
from oragent.ledger.study import FinishedCase
from oragent.report.pages.charts import Drawing, fit_label, new_figure, render_figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#66737D")
MOST_DRAWN = 7
MOST_LISTED = 2000
BINS = 20


def write_page(folder: Path, bench: ConverseBenchmark, contestants: Sequence[MeasuredContestant]) -> Path:
    """Write ``report.html`` and a page for each transcript that has none.

    Raises:
        StoreError: They cannot be written.
    """
    links: dict[tuple[str, str], str] = {}
    for number, contestant in enumerate(contestants, 1):
        for case in contestant.cases:
            if case.result["turns"]:
                link = links[contestant.name, case.name] = f"transcripts/{number:02d}-{case.name}.html"
                if not (folder / link).is_file():
                    save_text(folder / link, _render_transcript(bench, contestant, case))
    return save_text(folder / "report.html", render_page(bench, contestants, links))


def render_page(
    bench: ConverseBenchmark, contestants: Sequence[MeasuredContestant], links: Mapping[tuple[str, str], str]
) -> str:
    """The page with tables and figures, as HTML."""
    word, printed = bench.problem.vocabulary.decision, published_of(bench.problem)
    ends = f"Published: by the maximum / by itself / at the limit, of {printed.conversations}." if printed.ends else ""
    tables = [
        ("Contestants", f"Mean score: utility of the best {word} shown over the greatest possible.",
         contestant_table(contestants)),
        ("Paradigms", "Score / success in percent.", paradigm_table(contestants)),
        ("Agents by style and feedback", "Score / success in percent, and turns.", agent_table(contestants)),
        ("Models", "T-P-P against C-N-R.", model_table(contestants)),
        ("One-sided tests", "Paired sign-flip test of scores, exact McNemar test of success, adjusted by Holm.",
         contrast_table(contestants)),
        ("Ends", ends, end_table(contestants, word)),
        ("Audit", "Counts over all conversations of a contestant.", audit_table(contestants)),
        *((title, "", table) for title, table in group_tables(contestants)),
    ]  # fmt: skip
    return page_template(Path(__file__)).render(
        problem=bench.problem.name,
        decision=word,
        published=printed.note,
        utilities=len(bench.stakeholders),
        settings=dict(bench.plan.settings),
        tables=[table for table in tables if table[2].rows],
        figures=_draw_figures(contestants),
        rows=_list_conversations(contestants, links),
        count_all=sum(len(table.cases) for table in contestants),
    )


def _list_conversations(
    contestants: Sequence[MeasuredContestant], links: Mapping[tuple[str, str], str]
) -> list[dict[str, Any]]:
    """One line a conversation; those in which something was found come first."""
    rows = [
        {
            "contestant": contestant.name, "name": case.name, "link": links.get((contestant.name, case.name), ""),
            "score": case.result["score"], "end": case.result["end"], "turns": len(case.result["turns"]),
            "found": sorted({finding["kind"].replace("_", " ") for finding in case.result["findings"]}),
        }
        for contestant in contestants for case in contestant.cases
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -len(row["found"]))[:MOST_LISTED]


def _render_transcript(bench: ConverseBenchmark, contestant: MeasuredContestant, case: FinishedCase) -> str:
    result = case.result
    outcome = ConversationResult.from_plain(result)
    facts = dict(bench.stakeholders[int(result["utility"])].profile.facts)
    facts |= {key: result[key] for key in ("role", "style", "feedback") if result[key]}
    return transcript_page(
        bench.problem,
        f"{contestant.name}: {case.name}",
        contestant.agent,
        outcome,
        facts,
        _stakeholder_text(bench, contestant, case),
        result["findings"],
    )


def _stakeholder_text(bench: ConverseBenchmark, contestant: MeasuredContestant, case: FinishedCase) -> str:
    stakeholder = bench.stakeholders[int(case.result["utility"])]
    if case.result["style"]:
        subject = next(iter(bench.plan.subjects))
        persona = bench.persona(
            BenchCell(subject, contestant.name, bench.plan.seeds[0]), case.name, bench.settings.seed
        )
        return decider_prompt(bench.problem, stakeholder, persona)
    return stakeholder.profile.utility


def _draw_figures(contestants: Sequence[MeasuredContestant]) -> list[Drawing]:
    shown = [contestant for contestant in contestants if contestant.cases][:MOST_DRAWN]
    talking = [contestant for contestant in shown if any(case.result["turns"] for case in contestant.cases)]
    if not shown:
        return []
    drawings = [render_figure("scores", "Distribution of scores by contestant.", lambda: _draw_scores(shown))]
    if talking:
        drawings += [
            render_figure(
                "lengths", "Distribution of lengths: messages of the decision agent.", lambda: _draw_lengths(talking)
            ),
            render_figure(
                "successes",
                "Share of conversations that reached the maximum by so many turns.",
                lambda: _draw_successes(talking),
            ),
        ]
        styles = {case.result["style"] for contestant in talking for case in contestant.cases} - {""}
        if len(styles) > 1:
            drawings.append(render_figure("styles", "Distribution of scores by style.", lambda: _draw_styles(talking)))
    return drawings


def _draw_scores(contestants: Sequence[MeasuredContestant]) -> Figure:
    return _draw_histograms(
        {contestant.name: [case.result["score"] for case in contestant.cases] for contestant in contestants},
        "score",
        1.0,
    )


def _draw_lengths(contestants: Sequence[MeasuredContestant]) -> Figure:
    lengths = {
        contestant.name: [float(len(case.result["turns"])) for case in contestant.cases] for contestant in contestants
    }
    return _draw_histograms(lengths, "messages", float(LIMIT))


def _draw_styles(contestants: Sequence[MeasuredContestant]) -> Figure:
    by = {
        f"{contestant.name}, {style}": [
            case.result["score"] for case in contestant.cases if case.result["style"] == style
        ]
        for contestant in contestants[:3]
        for style in ("vague", "precise")
    }
    return _draw_histograms(by, "score", 1.0)


def _draw_histograms(values: Mapping[str, Sequence[float]], what: str, upper: float) -> Figure:
    figure = new_figure(6.2, 0.7 + 0.75 * len(values))
    panels = figure.subplots(len(values), 1, squeeze=False, sharex=True).ravel()
    for axes, (name, sample), color in zip(panels, values.items(), COLORS * len(values), strict=False):
        axes.hist(sample, bins=BINS, range=(0.0, upper), color=color)
        axes.set_title(fit_label(name, 60), fontsize=8)
        axes.yaxis.set_major_locator(axes.yaxis.get_major_locator())
    panels[-1].set_xlabel(what)
    return figure


def _draw_successes(contestants: Sequence[MeasuredContestant]) -> Figure:
    figure = new_figure(6.2, 3.0)
    axes = figure.subplots()
    for contestant, color in zip(contestants, COLORS, strict=False):
        reached = [0] * (LIMIT + 1)
        for case in contestant.cases:
            turn_reached = _first_success(case.result)
            if turn_reached is not None:
                reached[min(turn_reached, LIMIT)] += 1
        share = [100 * count / len(contestant.cases) for count in accumulate(reached)]
        axes.step(range(LIMIT + 1), share, where="post", color=color, label=fit_label(contestant.name, 40))
    axes.set(xlabel="turns", ylabel="reached the maximum, %", ylim=(-3, 103))
    axes.legend(frameon=False, fontsize=7)
    return figure


def _first_success(result: Mapping[str, Any]) -> int | None:
    for number, turn in enumerate(result["turns"], 1):
        if any(value >= result["maximum"] - 1e-9 for value in turn["values"]):
            return number
    return None
