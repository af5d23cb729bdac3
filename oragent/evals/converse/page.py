"""The pages of an evaluation: one with tables and figures, one a transcript."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from oragent._base.errors import StoreError
from oragent._base.files import replace
from oragent.converse.conversation import LIMIT, ConversationResult
from oragent.converse.transcript import transcript_page
from oragent.evals.bench.plan import BenchCell
from oragent.evals.converse.benchmark import ConverseBenchmark
from oragent.evals.converse.deciders.talking import prompt
from oragent.evals.converse.evaluable_problems import published_of
from oragent.evals.converse.measured import MeasuredContestant
from oragent.evals.converse.tables import (
    agent_table,
    audit_table,
    contestant_table,
    contrast_table,
    end_table,
    group_tables,
    model_table,
    paradigm_table,
)
from oragent.ledger.study import Finished
from oragent.report.pages.charts import label, new_figure
from oragent.report.pages.figures import Drawing, render
from oragent.report.pages.html import environment

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#66737D")
MOST_DRAWN = 7
MOST_LISTED = 2000
BINS = 20


def write_page(folder: Path, bench: ConverseBenchmark, found: Sequence[MeasuredContestant]) -> Path:
    """Write ``report.html`` and a page for each transcript that has none.

    Raises:
        StoreError: They cannot be written.
    """
    links: dict[tuple[str, str], str] = {}
    try:
        (folder / "transcripts").mkdir(exist_ok=True)
        for place, one in enumerate(found, 1):
            for done in one.done:
                if done.result["turns"]:
                    name = f"{place:02d}-{done.name}.html"
                    links[one.name, done.name] = f"transcripts/{name}"
                    if not (folder / "transcripts" / name).is_file():
                        replace(folder / "transcripts" / name, _transcript(bench, one, done))
        replace(folder / "report.html", page(bench, found, links))
    except OSError as problem:
        raise StoreError(f"cannot write the pages of {folder}: {problem}") from None
    return folder / "report.html"


def page(bench: ConverseBenchmark, found: Sequence[MeasuredContestant], links: Mapping[tuple[str, str], str]) -> str:
    """The page with tables and figures, as HTML."""
    word, printed = bench.problem.vocabulary.decision, published_of(bench.problem)
    ends = f"Published: by the maximum / by itself / at the limit, of {printed.conversations}." if printed.ends else ""
    tables = [
        ("Contestants", f"Mean score: utility of the best {word} shown over the greatest possible.",
         contestant_table(found)),
        ("Paradigms", "Score / success in percent.", paradigm_table(found)),
        ("Agents by style and feedback", "Score / success in percent, and turns.", agent_table(found)),
        ("Models", "T-P-P against C-N-R.", model_table(found)),
        ("One-sided tests", "Paired sign-flip test of scores, exact McNemar test of success, adjusted by Holm.",
         contrast_table(found)),
        ("Ends", ends, end_table(found, word)),
        ("Audit", "Counts over all conversations of a contestant.", audit_table(found)),
        *((title, "", table) for title, table in group_tables(found)),
    ]  # fmt: skip
    return environment(Path(__file__).parent, Path(__file__).parents[1] / "bench").get_template(
        "page.html"
    ).render(
        problem=bench.problem.name, decision=word, published=printed.note, utilities=len(bench.stakeholders),
        settings=dict(bench.plan.settings), tables=[one for one in tables if one[2].rows], figures=_figures(found),
        rows=_listed(found, links), count_all=sum(len(one.done) for one in found),
    )  # fmt: skip


def _listed(found: Sequence[MeasuredContestant], links: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """One line a conversation; those in which something was found come first."""
    rows = [
        {
            "contestant": one.name, "name": done.name, "link": links.get((one.name, done.name), ""),
            "score": done.result["score"], "end": done.result["end"], "turns": len(done.result["turns"]),
            "found": sorted({finding["kind"].replace("_", " ") for finding in done.result["findings"]}),
        }
        for one in found for done in one.done
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -len(row["found"]))[:MOST_LISTED]


def _transcript(bench: ConverseBenchmark, one: MeasuredContestant, done: Finished) -> str:
    result = done.result
    outcome = ConversationResult.from_plain(result)
    facts = dict(bench.stakeholders[int(result["utility"])].profile.facts)
    facts |= {key: result[key] for key in ("role", "style", "feedback") if result[key]}
    return transcript_page(
        bench.problem, f"{one.name}: {done.name}", one.own["agent"], outcome, facts, _knew(bench, one, done),
        result["findings"],
    )  # fmt: skip


def _knew(bench: ConverseBenchmark, one: MeasuredContestant, done: Finished) -> str:
    stakeholder = bench.stakeholders[int(done.result["utility"])]
    if done.result["style"]:
        subject = next(iter(bench.plan.subjects))
        persona = bench.persona(
            BenchCell(subject, one.name, bench.plan.seeds[0]), done.name, bench.plan.settings["seed"]
        )
        return prompt(bench.problem, stakeholder, persona)
    return stakeholder.profile.utility


def _figures(found: Sequence[MeasuredContestant]) -> list[Drawing]:
    shown = [one for one in found if one.done][:MOST_DRAWN]
    talking = [one for one in shown if any(done.result["turns"] for done in one.done)]
    if not shown:
        return []
    drawings = [render("scores", "Distribution of scores by contestant.", lambda: _scores(shown))]
    if talking:
        drawings += [
            render("lengths", "Distribution of lengths: messages of the decision agent.", lambda: _lengths(talking)),
            render("successes", "Share of conversations that reached the maximum by so many turns.",
                   lambda: _successes(talking)),
        ]  # fmt: skip
        styles = {done.result["style"] for one in talking for done in one.done} - {""}
        if len(styles) > 1:
            drawings.append(render("styles", "Distribution of scores by style.", lambda: _styles(talking)))
    return drawings


def _scores(found: Sequence[MeasuredContestant]) -> Figure:
    return _histograms({one.name: [done.result["score"] for done in one.done] for one in found}, "score", 1.0)


def _lengths(found: Sequence[MeasuredContestant]) -> Figure:
    lengths = {one.name: [float(len(done.result["turns"])) for done in one.done] for one in found}
    return _histograms(lengths, "messages", float(LIMIT))


def _styles(found: Sequence[MeasuredContestant]) -> Figure:
    by = {
        f"{one.name}, {style}": [done.result["score"] for done in one.done if done.result["style"] == style]
        for one in found[:3] for style in ("vague", "precise")
    }  # fmt: skip
    return _histograms(by, "score", 1.0)


def _histograms(values: Mapping[str, Sequence[float]], what: str, most: float) -> Figure:
    figure = new_figure(6.2, 0.7 + 0.75 * len(values))
    panels = figure.subplots(len(values), 1, squeeze=False, sharex=True).ravel()
    for axes, (name, own), color in zip(panels, values.items(), COLORS * len(values), strict=False):
        axes.hist(own, bins=BINS, range=(0.0, most), color=color)
        axes.set_title(label(name, 60), fontsize=8)
        axes.yaxis.set_major_locator(axes.yaxis.get_major_locator())
    panels[-1].set_xlabel(what)
    return figure


def _successes(found: Sequence[MeasuredContestant]) -> Figure:
    figure = new_figure(6.2, 3.0)
    axes = figure.subplots()
    for one, color in zip(found, COLORS, strict=False):
        reached = [0] * (LIMIT + 1)
        for done in one.done:
            place = _reached(done.result)
            if place is not None:
                reached[min(place, LIMIT)] += 1
        share = [100 * count / len(one.done) for count in accumulate(reached)]
        axes.step(range(LIMIT + 1), share, where="post", color=color, label=label(one.name, 40))
    axes.set(xlabel="turns", ylabel="reached the maximum, %", ylim=(-3, 103))
    axes.legend(frameon=False, fontsize=7)
    return figure


def _reached(result: Mapping[str, Any]) -> int | None:
    for number, turn in enumerate(result["turns"], 1):
        if any(value >= result["maximum"] - 1e-9 for value in turn["values"]):
            return number
    return None
