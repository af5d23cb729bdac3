"""Tables of an evaluation: paradigms, agents, models, tests, ends, audit, and published figures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import fmean

from oragent._base.errors import ConfigError
from oragent.evals.bench.tables import TextTable
from oragent.report.pages.text import format_money, format_share
from oragent_benchmarks.cases import MeasuredCases
from oragent_benchmarks.converse.benchmark import ConverseBenchmark, score_case
from oragent_benchmarks.converse.conversation import ConversationEnd
from oragent_benchmarks.converse.evaluable_problems import published_of
from oragent_benchmarks.converse.paradigms import Paradigm
from oragent_benchmarks.converse.scoring import COUNTS, Contrast, Scored, contrast_sides, summarize_groups, total_counts
from oragent_benchmarks.converse.stakeholders import Published

DASH = "–"
P_DIGITS = 4


@dataclass(frozen=True)
class MeasuredContestant(MeasuredCases):
    """A contestant and its conversations."""

    published: Published = field(default_factory=Published)

    @property
    def name(self) -> str:
        """Name of the contestant."""
        return self.contestant

    @property
    def agent(self) -> str:
        """Name of its agent; empty for none."""
        return str(self.settings["agent"])

    @property
    def model(self) -> str:
        """Name of its model; empty for none."""
        return str(self.settings["model"])

    @property
    def paradigm(self) -> str:
        """Name of its paradigm."""
        return str(self.settings["paradigm"])

    @property
    def scored(self) -> list[Scored]:
        """Conversations as score records."""
        return [score_case(self.settings, case.result) for case in self.cases]

    @property
    def plain(self) -> bool:
        """True for the published configuration, without other tools and without omitted parts."""
        return self.settings["tools"] == "paper" and not self.settings["without"]


def measure_contestants(bench: ConverseBenchmark) -> list[MeasuredContestant]:
    """Collect the finished conversations, one item per contestant."""
    (contestants,) = bench.measure(bench.folder, MeasuredContestant).values()
    published = published_of(bench.problem)
    return [replace(contestant, published=published) for contestant in contestants]


Tables = list[tuple[str, TextTable]]


def terminal_tables(contestants: Sequence[MeasuredContestant]) -> Tables:
    """Return the tables for a terminal with 80 columns."""
    used_tokens = any(case.spent.tokens for contestant in contestants for case in contestant.cases)
    hidden = ("95 %", "turns", "solver calls", "calls", "money", *(() if used_tokens else ("tokens",)))
    tables = [("Contestants", contestant_table(contestants).drop_columns(*hidden))]
    models = model_table(contestants).drop_columns("relative gain", "success, points")
    titled = (
        ("Paradigms", stack_columns(paradigm_table(contestants), 1, "paradigm")),
        ("Agents by style and feedback", stack_columns(agent_table(contestants), 2, "agent")),
        ("Models", models),
        ("One-sided tests", stack_tests(contrast_table(contestants))),
    )
    for title, table in titled:
        if table.rows:
            tables += [(title, table)]
    return tables


def stack_columns(table: TextTable, keys: int, what: str) -> TextTable:
    """Stack groups of columns as rows. Each group has one column of names and columns of figures.

    Args:
        table: Table in which a name column begins each group; its figure columns have the same heads in each group.
        keys: Number of columns before the first group.
        what: Column head of the names.
    """
    figures = [head.strip() for head in table.heads[keys:]]
    repeated = ("published", "turns")
    starts = [keys + index for index, head in enumerate(figures) if head not in repeated]
    ends = [*starts[1:], len(table.heads)]
    if not starts:
        return table
    heads = (*table.heads[:keys], what, "score / success", *table.heads[starts[0] + 1 : ends[0]])
    rows = [
        (*row[:keys], table.heads[start], *row[start:end])
        for row in table.rows
        for start, end in zip(starts, ends, strict=True)
    ]
    return TextTable(heads, tuple(rows))


def stack_tests(table: TextTable) -> TextTable:
    """Return the tests with one row per claim for scores and one for successes."""
    rows: list[tuple[str, ...]] = []
    for claim, pairs, scores, score_p, successes, success_p in table.rows:
        rows += [(claim, pairs, "score", scores, score_p), ("", "", "success", successes, success_p)]
    return TextTable(("claim", "pairs", "of", "values", "p"), tuple(rows))


def contestant_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Return one row per contestant: score and success with intervals, turns, calls, and cost."""
    heads = (
        "contestant",
        "held",
        "score",
        "95 %",
        "success",
        "turns",
        "requests",
        "solver calls",
        "calls",
        "tokens",
        "money",
    )
    rows = []
    for contestant in contestants:
        if not contestant.cases:
            rows.append((contestant.name, f"0 of {contestant.total}", *[DASH] * (len(heads) - 2)))
            continue
        (summary,) = summarize_groups(contestant.scored, ()).values()
        calls = sum(case.spent.model_calls for case in contestant.cases)
        successes = sum(case.success for case in contestant.scored)
        rows.append(
            (
                contestant.name,
                f"{len(contestant.cases)} of {contestant.total}",
                f"{summary.score.mean:.4f}",
                f"{summary.score.low:.3f} to {summary.score.high:.3f}",
                f"{100 * summary.success.mean:.2f} % ({successes} of {len(contestant.cases)})",
                f"{summary.turns:.2f}",
                str(sum(case.turns for case in contestant.scored)),
                f"{summary.calls:.2f}",
                str(calls),
                f"{sum(case.spent.tokens for case in contestant.cases):,}",
                format_money(sum(case.spent.money for case in contestant.cases)),
            )
        )
    return TextTable(heads, tuple(rows))


def paradigm_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Return score / success by style and paradigm, of T-P-P or the first agent, with published figures."""
    first, printed = _main_agent(contestants), _published_figures(contestants)
    comparable = [
        contestant
        for contestant in contestants
        if contestant.cases and contestant.plain and contestant.agent in (first, "")
    ]
    by = {contestant.paradigm: contestant.scored for contestant in reversed(comparable)}
    if len(by) < 2:
        return TextTable(("style",), ())
    heads = ["style", *(column for name in Paradigm if name in by for column in (str(name), "published"))]
    rows = []
    for style in ("vague", "precise", "all"):
        row = [style]
        for name in Paradigm:
            if name in by:
                cases = [case for case in by[name] if style == "all" or case.style == style]
                row += [_format_pair(cases), printed.paradigms.get(style, {}).get(str(name), DASH)]
        if any(cell not in (DASH,) for cell in row[1::2]):
            rows.append(tuple(row))
    return _with_printed(TextTable(tuple(heads), tuple(rows)), printed)


def agent_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Return score / success and turns of conversations by style, feedback and agent."""
    talking, printed = _by_agent(contestants), _published_figures(contestants)
    if not talking:
        return TextTable(("style",), ())
    heads = ["style", "feedback"]
    heads += [column for name in talking for column in (name, "published", "turns", "published ")]
    rows = []
    for style, feedback in [*product(("vague", "precise"), ("binary", "rich")), ("all", "all")]:
        row = [style, feedback]
        for name, cases in talking.items():
            selected = [case for case in cases if style == "all" or (case.style, case.feedback) == (style, feedback)]
            turns = f"{fmean(case.turns for case in selected):.2f}" if selected else DASH
            row += [_format_pair(selected), printed.agents.get((style, feedback), {}).get(name, DASH)]
            row += [turns, printed.turns.get((style, feedback), {}).get(name, DASH)]
        if any(cell != DASH for cell in row[2::4]):
            rows.append(tuple(row))
    return _with_printed(TextTable(tuple(heads), tuple(rows)), printed)


def model_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Compare T-P-P with C-N-R by model: relative gain, difference in success, turns and solver calls."""
    heads = ("model", "T-P-P", "C-N-R", "relative gain", "success, points", "turns", "solver calls")
    rows = []
    for model in dict.fromkeys(contestant.model for contestant in contestants if contestant.model):
        sides = {
            contestant.agent: contestant.scored
            for contestant in reversed(contestants)
            if (contestant.model, contestant.paradigm) == (model, Paradigm.CONVERSATION) and contestant.plain
        }
        ours, theirs = sides.get("T-P-P", []), sides.get("C-N-R", [])
        if ours or theirs:
            rows.append(_model_row(model, ours, theirs))
    if not rows:
        return TextTable(heads, ())
    rows += [(f"{name} (published)", *figures) for name, *figures in _published_figures(contestants).models]
    return TextTable(heads, tuple(rows))


def contrast_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Test T-P-P against each other agent, and conversation against each other paradigm, adjusted by Holm."""
    heads = ("claim", "pairs", "scores", "p of score", "successes", "p of success")
    rows: list[tuple[str, ...]] = []
    whole = [contestant for contestant in contestants if contestant.cases and contestant.plain]
    models = dict.fromkeys(contestant.model for contestant in whole if contestant.model) or {"": None}
    for model in models:
        of_model = [contestant for contestant in whole if contestant.model in (model, "")]
        talks = [contestant for contestant in of_model if contestant.paradigm == Paradigm.CONVERSATION]
        rows += _contrast_rows(talks, "agent", "T-P-P")
        first = _main_agent(of_model)
        rows += _contrast_rows(
            [contestant for contestant in of_model if contestant.agent in (first, "")], "paradigm", "conversation"
        )
    return TextTable(heads, tuple(rows))


def end_table(contestants: Sequence[MeasuredContestant], decision: str) -> TextTable:
    """Tabulate how conversations ended. One column head contains the problem's word for a decision."""
    heads = ("contestant", "by the maximum", "by itself", "at the limit", "no say", f"no {decision} shown", "published")
    rows = []
    for contestant in contestants:
        ends = [case.result["end"] for case in contestant.cases]
        unseen = sum(not case.result["shown"] for case in contestant.cases)
        published = contestant.published.ends.get(contestant.agent, ())
        shown = " / ".join(map(str, published)) if contestant.paradigm == Paradigm.CONVERSATION and published else DASH
        kinds = (ConversationEnd.MAXIMUM, ConversationEnd.OWN, ConversationEnd.LIMIT, ConversationEnd.NONE)
        rows.append((contestant.name, *(str(ends.count(kind)) for kind in kinds), str(unseen), shown))
    return _with_printed(TextTable(heads, tuple(rows)), _published_figures(contestants))


def audit_table(contestants: Sequence[MeasuredContestant]) -> TextTable:
    """Return the counts of the audit, one row per contestant."""
    rows = []
    for contestant in contestants:
        total = total_counts(case.result["audit"] for case in contestant.cases)
        rows.append((contestant.name, *(str(total[name]) for name in COUNTS)))
    return TextTable(("contestant", *(name.replace("_", " ") for name in COUNTS)), tuple(rows))


def group_tables(contestants: Sequence[MeasuredContestant]) -> Tables:
    """Return score, success, turns and calls by role and by the traits of the decision agent."""
    tables = []
    traits = dict.fromkeys(name for contestant in contestants for case in contestant.scored for name in case.traits)
    for name in ("role", *traits):
        rows = []
        for contestant in contestants:
            for (key,), summary in summarize_groups(contestant.scored, (name,)).items() if contestant.cases else ():
                pair = f"{summary.score.mean:.3f} / {100 * summary.success.mean:.1f}"
                rows.append(
                    (
                        contestant.name,
                        key or DASH,
                        str(summary.cases),
                        pair,
                        f"{summary.turns:.2f}",
                        f"{summary.calls:.2f}",
                    )
                )
        heads = ("contestant", name, "cases", "score / success %", "turns", "solver calls")
        tables.append((f"By {name}", TextTable(heads, tuple(rows))))
    return tables


def _contrast_rows(contestants: Sequence[MeasuredContestant], by: str, better: str) -> list[tuple[str, ...]]:
    cases = [case for contestant in contestants for case in contestant.scored]
    if better not in {getattr(case, by) for case in cases} or len({getattr(case, by) for case in cases}) < 2:
        return []
    try:
        return [_contrast_row(contestant) for contestant in contrast_sides(cases, by, better)]
    except ConfigError as problem:
        # The evaluation is unfinished, and one side has no pairs yet.
        return [(f"{better}: {problem}"[:120], *[DASH] * 5)]


def _contrast_row(contrast: Contrast) -> tuple[str, ...]:
    scores = " against ".join(map(format_share, contrast.scores))
    successes = " against ".join(f"{100 * share:.1f} %" for share in contrast.successes)
    score_p, success_p = _format_p(contrast.score_p), _format_p(contrast.success_p)
    return f"{contrast.better} > {contrast.other}", str(contrast.pairs), scores, score_p, successes, success_p


def _model_row(model: str, ours: Sequence[Scored], theirs: Sequence[Scored]) -> tuple[str, ...]:
    gain = points = DASH
    if ours and theirs:
        first, second = (fmean(case.score for case in side) for side in (ours, theirs))
        gain = f"{100 * (first / second - 1):.1f} %" if second else DASH
        points = f"{100 * (fmean(c.success for c in ours) - fmean(c.success for c in theirs)):.1f}"
    mean: Callable[[Iterable[float]], str] = lambda values: f"{fmean(values):.2f}"  # noqa: E731  # twice below
    if ours:
        turns, calls = (mean(c.turns for c in ours), mean(c.calls for c in ours))
    else:
        turns, calls = (DASH, DASH)
    return model, _format_pair(ours), _format_pair(theirs), gain, points, turns, calls


def _by_agent(contestants: Sequence[MeasuredContestant]) -> dict[str, list[Scored]]:
    """Return conversations by agent. If there are several models, only the first one counts."""
    by: dict[str, list[Scored]] = {}
    for contestant in contestants:
        if contestant.cases and contestant.plain and contestant.paradigm == Paradigm.CONVERSATION:
            by.setdefault(contestant.agent, contestant.scored)
    return by


def _published_figures(contestants: Sequence[MeasuredContestant]) -> Published:
    if contestants:
        return contestants[0].published
    return Published()


def _with_printed(table: TextTable, printed: Published) -> TextTable:
    """Remove the columns of published figures from a table if no figure was published."""
    if printed.note:
        return table
    return table.drop_columns("published", "published ")


def _main_agent(contestants: Sequence[MeasuredContestant]) -> str:
    names = [contestant.agent for contestant in contestants if contestant.agent]
    if "T-P-P" in names:
        return "T-P-P"
    return next(iter(names), "")


def _format_pair(cases: Sequence[Scored]) -> str:
    if not cases:
        return DASH
    return f"{fmean(case.score for case in cases):.2f} / {100 * fmean(case.success for case in cases):.1f}"


def _format_p(value: float | None) -> str:
    if value is None:
        return DASH
    if value < 10.0**-P_DIGITS:
        return "< 0.0001"
    return f"{value:.{P_DIGITS}f}"
