"""The figures of a benchmark in words: what page and terminal both show."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, MeanInterval
from oragent.evals.bench.differences import ContestantDifference
from oragent.evals.bench.result import Cost
from oragent.evals.bench.scale import Scale
from oragent.evals.bench.summary import BenchSummary, SubjectSummary, SummaryRow
from oragent.evals.bench.terms import BenchTerms
from oragent.report.pages import format as in_words

GAIN = "95 %"  # head of the interval of a difference
VERDICT = "verdict"  # head of what a difference comes to


@dataclass(frozen=True)
class TextTable:
    """Column heads and rows of text; the first column names its row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without(self, *heads: str) -> "TextTable":
        """The same with some columns left out."""
        kept = [place for place, head in enumerate(self.heads) if head not in heads]
        rows = [tuple(row[place] for place in kept) for row in self.rows]
        return TextTable(tuple(self.heads[place] for place in kept), tuple(rows))


def interval_heads(terms: BenchTerms) -> tuple[str, ...]:
    """Heads of the columns of intervals in the table of final scores, one a mode."""
    return tuple(f"{mode}, 95 %" for mode in terms.modes)


def overall(summary: BenchSummary) -> TextTable:
    """Mean normalised scores over subjects, and for each subject."""
    terms = summary.terms
    heads = (terms.contestant, "mode", f"all {terms.subjects}", *(subject.name for subject in summary.subjects))
    rows = []
    for name, shares in summary.overall.items():
        own = [row for subject in summary.subjects for row in subject.rows if row.contestant == name]
        rows += [(name, m, _share(shares.get(m)), *(_share(row.normalised[m]) for row in own)) for m in terms.modes]
    return TextTable(heads, tuple(rows))


def finals(subject: SubjectSummary, terms: BenchTerms) -> TextTable:
    """Final scores of each contestant, with every noise that they have."""
    (main, interval), *others = zip(terms.modes, interval_heads(terms), strict=True)
    heads = (terms.contestant, "runs", main, interval, "± seeds", f"± {terms.noise}")
    more = tuple(head for pair in others for head in pair)
    return TextTable((*heads, *more, "failed"), tuple(_final(row, terms) for row in subject.rows))


def differences(subject: SubjectSummary, terms: BenchTerms) -> TextTable:
    """All pairs of contestants: score of the first minus score of the second, beside its noise."""
    heads = ("pair", "mode", "difference", GAIN, "± seeds", f"± {terms.noise}", "p", "p, all pairs", VERDICT)
    return TextTable(heads, tuple(_difference(one, subject.direction, terms) for one in subject.differences))


def target(subject: SubjectSummary, terms: BenchTerms) -> TextTable:
    """What it took to reach the target, and in all."""
    spent = (terms.work, "tokens", "money")
    heads = (terms.contestant, "runs that did", *spent, f"in all: {terms.work}", *spent[1:])
    return TextTable(heads, tuple(_reached(row) for row in subject.rows))


def scales(subject: SubjectSummary, terms: BenchTerms) -> Sequence[str]:
    """Say, for each mode, what 0 and 1 are."""
    return [f"{mode}: {_ends(scale, terms)}" for mode, scale in subject.scales.items()]


def _ends(scale: Scale, terms: BenchTerms) -> str:
    baseline, best = in_words.score(scale.baseline), in_words.score(scale.best)
    return f"0 is {baseline} ({terms.baseline}), 1 is {best} ({scale.source})"


def _final(row: SummaryRow, terms: BenchTerms) -> tuple[str, ...]:
    main, *others = (_mean(row.means.get(mode)) for mode in terms.modes)
    return (
        row.contestant,
        str(len(row.results)),
        *main,
        _width(row.spread),
        _width(row.noise),
        *(text for mean in others for text in mean),
        "–" if row.failed is None else in_words.percent(row.failed),
    )


def _mean(found: MeanInterval | None) -> tuple[str, str]:
    return (in_words.score(found.mean), _interval(found)) if found else ("–", "–")


def _difference(one: ContestantDifference, direction: Direction, terms: BenchTerms) -> tuple[str, ...]:
    low, high = sorted(direction.sign * end for end in (one.gain.low, one.gain.high))
    return (
        f"{one.first} − {one.second}",
        one.mode,
        _signed(one.gain.mean, direction),
        f"{low:+.3g} to {high:+.3g}" if one.pairs > 1 else "–",
        _width(one.spread),
        _width(one.noise),
        _p(one.p),
        _p(one.adjusted),
        _verdict(one, terms),
    )


def _signed(gain: float, direction: Direction) -> str:
    """A difference in score with its sign, and whether that is better or worse."""
    if not gain:
        return "0"
    return f"{direction.sign * gain:+.3g} ({'better' if gain > 0 else 'worse'})"


def _verdict(one: ContestantDifference, terms: BenchTerms) -> str:
    if not one.gain.mean:
        return "equal"
    if one.adjusted is None or one.adjusted >= ALPHA:
        return "no difference shown"
    better = one.first if one.gain.mean > 0 else one.second
    small = f", by less than ± {terms.noise}" if one.noise and abs(one.gain.mean) < one.noise else ""
    return f"{better} is better{small}"


def _reached(row: SummaryRow) -> tuple[str, ...]:
    found = row.typical
    until = _cost(found) if found else ("–", "–", "–")
    return (row.contestant, f"{len(row.reached)} of {len(row.results)}", *until, *_cost(row.spent))


def _cost(spent: Cost) -> tuple[str, str, str]:
    money = in_words.money(spent.money, spent.unpriced) if spent.tokens else "–"
    return f"{spent.work:,}", f"{spent.tokens:,}", money


def _interval(interval: MeanInterval) -> str:
    low, high = in_words.score(interval.low), in_words.score(interval.high)
    return "–" if interval.low == interval.high else f"{low} to {high}"


def _width(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
