"""An evaluation in tables: paradigms, agents, models, tests, ends, audit; with published figures beside."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import fmean

from oragent._base.errors import ConfigError
from oragent.converse.conversation import ConversationEnd
from oragent.evals.bench.tables import TextTable
from oragent.evals.converse.audit import COUNTS, totals
from oragent.evals.converse.measured import MeasuredContestant
from oragent.evals.converse.paradigms import Paradigm
from oragent.evals.converse.published import Published
from oragent.evals.converse.scoring import Contrast, Scored, contrasts, summarise
from oragent.report.pages.format import money

DASH = "–"
P_DIGITS = 4


Tables = list[tuple[str, TextTable]]


def terminal_tables(found: Sequence[MeasuredContestant]) -> Tables:
    """The tables that a terminal shows, in the columns that 80 letters hold."""
    tables = [("Contestants", contestant_table(found).without("95 %", "turns", "solver calls", "calls", "money"))]
    models = model_table(found).without("relative gain", "success, points")
    for title, table in (("Paradigms", paradigm_table(found)), ("Agents by style and feedback", agent_table(found)),
                         ("Models", models), ("One-sided tests", contrast_table(found))):  # fmt: skip
        tables += [(title, table)] if table.rows else []
    return tables


def contestant_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """A row a contestant: score and success with intervals, turns, calls, what it took."""
    heads = ("contestant", "held", "score", "95 %", "success", "turns", "requests", "solver calls", "calls", "money")
    rows = []
    for one in found:
        if not one.done:
            rows.append((one.name, f"0 of {one.total}", *[DASH] * (len(heads) - 2)))
            continue
        (summary,) = summarise(one.cases, ()).values()
        calls = sum(case.spent.model_calls for case in one.done)
        successes = sum(case.success for case in one.cases)
        rows.append((
            one.name, f"{len(one.done)} of {one.total}", f"{summary.score.mean:.4f}",
            f"{summary.score.low:.3f} to {summary.score.high:.3f}",
            f"{100 * summary.success.mean:.2f} % ({successes} of {len(one.done)})", f"{summary.turns:.2f}",
            str(sum(case.turns for case in one.cases)), f"{summary.calls:.2f}", str(calls),
            money(sum(case.spent.money for case in one.done)),
        ))  # fmt: skip
    return TextTable(heads, tuple(rows))


def paradigm_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """Score / success by style and paradigm, of T-P-P or the first agent, with the published ones."""
    first, printed = _main_agent(found), _printed(found)
    known = [one for one in found if one.done and one.plain and (one.own["agent"] in (first, ""))]
    by = {one.own["paradigm"]: one.cases for one in reversed(known)}
    if len(by) < 2:
        return TextTable(("style",), ())
    heads = ["style", *(column for name in Paradigm if name in by for column in (str(name), "published"))]
    rows = []
    for style in ("vague", "precise", "all"):
        row = [style]
        for name in Paradigm:
            if name in by:
                cases = [case for case in by[name] if style == "all" or case.style == style]
                row += [_pair(cases), printed.paradigms.get(style, {}).get(str(name), DASH)]
        if any(cell not in (DASH,) for cell in row[1::2]):
            rows.append(tuple(row))
    return _with_printed(TextTable(tuple(heads), tuple(rows)), printed)


def agent_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """Score / success and turns by style, feedback and agent, in conversations."""
    talking, printed = _by_agent(found), _printed(found)
    if not talking:
        return TextTable(("style",), ())
    heads = ["style", "feedback"]
    heads += [column for name in talking for column in (name, "published", "turns", "published ")]
    rows = []
    for style, feedback in [*product(("vague", "precise"), ("binary", "rich")), ("all", "all")]:
        row = [style, feedback]
        for name, cases in talking.items():
            kept = [case for case in cases if style == "all" or (case.style, case.feedback) == (style, feedback)]
            turns = f"{fmean(case.turns for case in kept):.2f}" if kept else DASH
            row += [_pair(kept), printed.agents.get((style, feedback), {}).get(name, DASH)]
            row += [turns, printed.turns.get((style, feedback), {}).get(name, DASH)]
        if any(cell != DASH for cell in row[2::4]):
            rows.append(tuple(row))
    return _with_printed(TextTable(tuple(heads), tuple(rows)), printed)


def model_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """T-P-P against C-N-R by model: relative gain, difference in success, turns and solver calls."""
    heads = ("model", "T-P-P", "C-N-R", "relative gain", "success, points", "turns", "solver calls")
    rows = []
    for model in dict.fromkeys(one.own["model"] for one in found if one.own["model"]):
        sides = {
            name: next((one.cases for one in found if one.own["model"] == model and one.plain
                        and one.own["paradigm"] == Paradigm.CONVERSATION and one.own["agent"] == name), [])
            for name in ("T-P-P", "C-N-R")
        }  # fmt: skip
        if any(sides.values()):
            rows.append(_model_row(model, sides["T-P-P"], sides["C-N-R"]))
    if not rows:
        return TextTable(heads, ())
    rows += [(f"{name} (published)", *figures) for name, *figures in _printed(found).models]
    return TextTable(heads, tuple(rows))


def contrast_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """Is T-P-P better than each other agent, and conversation than each other paradigm? Adjusted by Holm."""
    heads = ("claim", "pairs", "scores", "p of score", "successes", "p of success")
    rows: list[tuple[str, ...]] = []
    whole = [one for one in found if one.done and one.plain]
    models = dict.fromkeys(one.own["model"] for one in whole if one.own["model"]) or {"": None}
    for model in models:
        own = [one for one in whole if one.own["model"] in (model, "")]
        talks = [one for one in own if one.own["paradigm"] == Paradigm.CONVERSATION]
        rows += _contrasts(talks, "agent", "T-P-P")
        first = _main_agent(own)
        rows += _contrasts([one for one in own if one.own["agent"] in (first, "")], "paradigm", "conversation")
    return TextTable(heads, tuple(rows))


def end_table(found: Sequence[MeasuredContestant], decision: str) -> TextTable:
    """How conversations ended, by kind; what a decision is called stands in a head."""
    heads = ("contestant", "by the maximum", "by itself", "at the limit", "no say", f"no {decision} shown",
             "published")  # fmt: skip
    rows = []
    for one in found:
        ends = [case.result["end"] for case in one.done]
        unseen = sum(not case.result["shown"] for case in one.done)
        known = one.published.ends.get(one.own["agent"], ())
        shown = " / ".join(map(str, known)) if one.own["paradigm"] == Paradigm.CONVERSATION and known else DASH
        counts = [
            str(ends.count(kind))
            for kind in (ConversationEnd.MAXIMUM, ConversationEnd.OWN, ConversationEnd.LIMIT, ConversationEnd.NONE)
        ]
        rows.append((one.name, *counts, str(unseen), shown))
    return _with_printed(TextTable(heads, tuple(rows)), _printed(found))


def audit_table(found: Sequence[MeasuredContestant]) -> TextTable:
    """The audit's counts, a row a contestant."""
    rows = []
    for one in found:
        total = totals(case.result["audit"] for case in one.done)
        rows.append((one.name, *(str(total[name]) for name in COUNTS)))
    return TextTable(("contestant", *(name.replace("_", " ") for name in COUNTS)), tuple(rows))


def group_tables(found: Sequence[MeasuredContestant]) -> Tables:
    """Score, success, turns and calls by role and by the traits of the decision agent's wishes."""
    tables = []
    traits = dict.fromkeys(name for one in found for case in one.cases for name in case.traits)
    for name in ("role", *traits):
        rows = []
        for one in found:
            for (key,), summary in summarise(one.cases, (name,)).items() if one.done else ():
                pair = f"{summary.score.mean:.3f} / {100 * summary.success.mean:.1f}"
                rows.append((one.name, key or DASH, str(summary.cases), pair, f"{summary.turns:.2f}",
                             f"{summary.calls:.2f}"))  # fmt: skip
        heads = ("contestant", name, "cases", "score / success %", "turns", "solver calls")
        tables.append((f"By {name}", TextTable(heads, tuple(rows))))
    return tables


def _contrasts(found: Sequence[MeasuredContestant], by: str, better: str) -> list[tuple[str, ...]]:
    cases = [case for one in found for case in one.cases]
    if better not in {getattr(case, by) for case in cases} or len({getattr(case, by) for case in cases}) < 2:
        return []
    try:
        return [_contrast(one) for one in contrasts(cases, by, better)]
    except ConfigError as problem:  # unfinished: a side without any pair yet
        return [(f"{better}: {problem}"[:120], *[DASH] * 5)]


def _contrast(one: Contrast) -> tuple[str, ...]:
    scores, successes = (" against ".join(form(v) for v in pair) for form, pair in (
        (_three, one.scores), (_percent, one.successes)))  # fmt: skip
    return (
        f"{one.better} > {one.other}", str(one.pairs), scores, _p(one.score_p), successes, _p(one.success_p),
    )  # fmt: skip


def _model_row(model: str, ours: Sequence[Scored], theirs: Sequence[Scored]) -> tuple[str, ...]:
    gain = points = DASH
    if ours and theirs:
        first, second = (fmean(case.score for case in side) for side in (ours, theirs))
        gain = f"{100 * (first / second - 1):.1f} %" if second else DASH
        points = f"{100 * (fmean(c.success for c in ours) - fmean(c.success for c in theirs)):.1f}"
    mean: Callable[[Iterable[float]], str] = lambda values: f"{fmean(values):.2f}"  # noqa: E731  # twice below
    turns, calls = (mean(c.turns for c in ours), mean(c.calls for c in ours)) if ours else (DASH, DASH)
    return model, _pair(ours), _pair(theirs), gain, points, turns, calls


def _by_agent(found: Sequence[MeasuredContestant]) -> dict[str, list[Scored]]:
    """Conversations by agent; of several models those of the first."""
    by: dict[str, list[Scored]] = {}
    for one in found:
        if one.done and one.plain and one.own["paradigm"] == Paradigm.CONVERSATION:
            by.setdefault(one.own["agent"], one.cases)
    return by


def _printed(found: Sequence[MeasuredContestant]) -> Published:
    return found[0].published if found else Published()


def _with_printed(table: TextTable, printed: Published) -> TextTable:
    """A table without its columns of published figures where nothing was published."""
    return table if printed.note else table.without("published", "published ")


def _main_agent(found: Sequence[MeasuredContestant]) -> str:
    names = [one.own["agent"] for one in found if one.own["agent"]]
    return "T-P-P" if "T-P-P" in names else next(iter(names), "")


def _pair(cases: Sequence[Scored]) -> str:
    if not cases:
        return DASH
    return f"{fmean(case.score for case in cases):.2f} / {100 * fmean(case.success for case in cases):.1f}"


def _three(value: float) -> str:
    return f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _p(value: float | None) -> str:
    return DASH if value is None else "< 0.0001" if value < 10.0**-P_DIGITS else f"{value:.{P_DIGITS}f}"
