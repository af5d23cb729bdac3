"""Results of a benchmark as text tables for page and terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, MeanInterval
from oragent.evals.bench.plan import BenchTerms
from oragent.evals.bench.result import ContestantDifference, Cost
from oragent.evals.bench.summary import BenchSummary, SubjectSummary, SummaryRow
from oragent.report.pages import text as in_words

# Column head of the interval of a difference.
GAIN = "95 %"
# Column head of half the width of this interval.
HALF_WIDTH = "± 95 %"
# Column head of the verdict on a difference.
VERDICT = "verdict"


@dataclass(frozen=True)
class TextTable:
    """Column heads and rows of text; the first column names the row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def drop_columns(self, *heads: str) -> "TextTable":
        """Return the table without some columns."""
        columns = [column for column, head in enumerate(self.heads) if head not in heads]
        rows = [tuple(row[column] for column in columns) for row in self.rows]
        return TextTable(tuple(self.heads[column] for column in columns), tuple(rows))


def interval_heads(terms: BenchTerms) -> tuple[str, ...]:
    """Return the column heads of intervals in the table of final scores, one per mode."""
    return tuple(f"{mode}, 95 %" for mode in terms.modes)


def overall_table(summary: BenchSummary) -> TextTable:
    """Tabulate mean normalised scores over all subjects and for each one."""
    terms = summary.terms
    heads = (terms.contestant, "mode", f"all {terms.subjects}", *(subject.name for subject in summary.subjects))
    rows = []
    for name, shares in summary.overall.items():
        own_rows = [row for subject in summary.subjects for row in subject.rows if row.contestant == name]
        for mode in terms.modes:
            numbers = (shares.get(mode), *(row.normalised[mode] for row in own_rows))
            rows.append((name, mode, *map(in_words.format_share, numbers)))
    return TextTable(heads, tuple(rows))


def finals_table(subject: SubjectSummary, terms: BenchTerms) -> TextTable:
    """Tabulate the final scores of each contestant with all measures of noise."""
    (main, interval), *others = zip(terms.modes, interval_heads(terms), strict=True)
    heads = (terms.contestant, "runs", main, interval, "± seeds", f"± {terms.noise}")
    more = tuple(head for pair in others for head in pair)
    return TextTable((*heads, *more, "failed"), tuple(_finals_row(row, terms) for row in subject.rows))


def differences_table(subject: SubjectSummary) -> TextTable:
    """Tabulate all pairs of contestants: difference of their scores, first minus second, with its noise."""
    heads = ("pair", "mode", "difference", GAIN, HALF_WIDTH, "± seeds", "p", "p, all pairs", VERDICT)
    return TextTable(heads, tuple(_difference_row(difference, subject.direction) for difference in subject.differences))


def explain_widths(terms: BenchTerms) -> str:
    """Explain the columns of interval widths in `finals_table` and `differences_table`."""
    return (
        f"± seeds: standard deviation of the final score, or of the difference, between runs that differ in their seed "
        f"alone; a dash for one run. {HALF_WIDTH}: half the width of the interval of the paired difference; a dash for "
        f"too few seeds. ± {terms.noise}: the same of one score over its {terms.noise}, which pairs have in common."
    )


def target_table(subject: SubjectSummary, terms: BenchTerms) -> TextTable:
    """Tabulate the cost of reaching the target, and the total cost."""
    spent = (terms.work, "tokens", "money")
    heads = (terms.contestant, "runs that did", *spent, f"in all: {terms.work}", *spent[1:])
    return TextTable(heads, tuple(_target_row(row) for row in subject.rows))


def describe_scales(subject: SubjectSummary, terms: BenchTerms) -> Sequence[str]:
    """Describe for each mode which scores are 0 and 1."""
    return [
        f"{mode}: 0 is {in_words.format_score(scale.baseline)} ({terms.baseline}), "
        f"1 is {in_words.format_score(scale.best)} ({scale.source})"
        for mode, scale in subject.scales.items()
    ]


def _finals_row(row: SummaryRow, terms: BenchTerms) -> tuple[str, ...]:
    main, *others = (_mean_cells(row.means.get(mode)) for mode in terms.modes)
    widths = map(_format_width, (row.spread, row.noise))
    failed = "–" if row.failed is None else in_words.format_percent(row.failed)
    return row.contestant, str(len(row.results)), *main, *widths, *(text for mean in others for text in mean), failed


def _difference_row(difference: ContestantDifference, direction: Direction) -> tuple[str, ...]:
    test = difference.test
    pair, interval = f"{difference.first} − {difference.second}", "–"
    if test.low is not None and test.high is not None:
        low, high = sorted(direction.sign * end for end in (test.low, test.high))
        interval = f"{low:+.3g} to {high:+.3g}"
    widths = map(_format_width, (test.half_width, test.spread))
    p_values = map(in_words.format_share, (test.p, difference.adjusted))
    gain, verdict = _signed_gain(test.mean, direction), _difference_verdict(difference)
    return pair, difference.mode, gain, interval, *widths, *p_values, verdict


def _signed_gain(gain: float, direction: Direction) -> str:
    """Format a difference in score with its sign, and whether it is better or worse."""
    if not gain:
        return "0"
    return f"{direction.sign * gain:+.3g} ({'better' if gain > 0 else 'worse'})"


def _difference_verdict(difference: ContestantDifference) -> str:
    if not difference.test.mean:
        return "equal"
    if difference.adjusted is None or difference.adjusted >= ALPHA:
        return "no difference shown"
    return f"{difference.first if difference.test.mean > 0 else difference.second} is better"


def _target_row(row: SummaryRow) -> tuple[str, ...]:
    median_cost = row.median_cost
    until = _cost_cells(median_cost) if median_cost else ("–", "–", "–")
    return (row.contestant, f"{len(row.reached)} of {len(row.results)}", *until, *_cost_cells(row.spent))


def _cost_cells(spent: Cost) -> tuple[str, str, str]:
    money = in_words.format_money(spent.money, spent.unpriced) if spent.tokens else "–"
    return f"{spent.work:,}", f"{spent.tokens:,}", money


def _mean_cells(mean: MeanInterval | None) -> tuple[str, str]:
    if mean is None:
        return "–", "–"
    low, high = in_words.format_score(mean.low), in_words.format_score(mean.high)
    return in_words.format_score(mean.mean), "–" if mean.low == mean.high else f"{low} to {high}"


def _format_width(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}"
