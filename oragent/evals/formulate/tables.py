"""The tables of a benchmark: rates beside what was published, differences by problem, one row a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, stdev

from oragent._base.direction import Direction
from oragent._base.statistics import share
from oragent.evals.bench.differences import ContestantDifference, ModeScores, compare_pairs
from oragent.evals.bench.plan import BenchCell
from oragent.evals.bench.result import ModeScore
from oragent.evals.bench.tables import TextTable
from oragent.evals.formulate.benchmark import rates
from oragent.evals.formulate.published import GPT_4, PROMPT_TOKENS, PUBLISHED, published
from oragent.ledger.study import Finished
from oragent.milp.verdict import SolveVerdict
from oragent.report.pages.format import money


@dataclass(frozen=True)
class MeasuredMethod:
    """A contestant on a set, all seeds together.

    Attributes:
        subject: The set.
        contestant: Its label.
        settings: Its own settings.
        done: Cells with the cases that are done.
        total: Number of cases that there are to do.
    """

    subject: str
    contestant: str
    settings: Mapping[str, object]
    done: Mapping[BenchCell, Sequence[Finished]]
    total: int

    @property
    def cases(self) -> list[Finished]:
        """All that is done."""
        return [one for found in self.done.values() for one in found]

    @property
    def group(self) -> ModeScores:
        """Success by problem and seed, 100 or 0."""
        return ModeScores(self.contestant, {
            (cell.seed, one.name): ModeScore(100.0 * (one.result["verdict"] == SolveVerdict.ACCEPT))
            for cell, found in self.done.items() for one in found
        })  # fmt: skip


def rate_table(measured: Sequence[MeasuredMethod]) -> TextTable:
    """Rates in percent, with an interval of the first over problems, and what was published."""
    heads = ("method", "problems", "SR", "SR, 95 %", "MFFR", "IEFR", "wrong", "published SR / MFFR / IEFR", "calls",
             "prompt tokens", "money", "seconds")  # fmt: skip
    return TextTable(heads, tuple(_rates(one) for one in measured))


def difference_table(measured: Sequence[MeasuredMethod]) -> TextTable:
    """All pairs of methods on the problems that both did: percentage points of SR, paired sign-flip test with Holm."""
    heads = ("pair", "problems", "difference", "95 %", "p", "p, all pairs")
    pairs = combinations([one.group for one in measured], 2)
    return TextTable(heads, tuple(_difference(one) for one in compare_pairs(pairs, "SR", Direction.MAXIMIZE)))


def battery_table(measured: Sequence[MeasuredMethod]) -> TextTable | None:
    """What the battery that needs no label says of the answers; None where it was not asked."""
    rows = []
    for row in measured:
        tried = [one for one in row.cases if any(held["holds"] is not None for held in one.result["battery"])]
        alarms = [one for one in tried if any(held["holds"] is False for held in one.result["battery"])]
        right = sum(one.result["verdict"] == SolveVerdict.ACCEPT for one in alarms)
        passed = sum((one.result["checks"] or {}).get("state") == "passed" for one in alarms)
        if tried:
            rows.append((row.contestant, *map(str, (len(tried), len(alarms), len(alarms) - right, right, passed))))
    heads = ("method", "answers tried", "alarms", "answer wrong", "answer right", "all checks passed")
    return TextTable(heads, tuple(rows)) if rows else None


def problem_table(measured: Sequence[MeasuredMethod]) -> TextTable:
    """One row a problem and seed: what each method came to."""
    names = dict.fromkeys(
        (cell.seed, one.name) for row in measured for cell, found in row.done.items() for one in found
    )
    by_name = [
        {(cell.seed, one.name): _ended(one) for cell, found in row.done.items() for one in found} for row in measured
    ]
    rows = [(f"{name}, seed {seed}", *(ends.get((seed, name), "–") for ends in by_name)) for seed, name in names]
    return TextTable(("problem", *(row.contestant for row in measured)), tuple(rows))


def reference_names(measured: Sequence[MeasuredMethod]) -> str:
    """What must be said of the published figures; empty where none stand beside ours."""
    if not any(published(one.subject, one.contestant) for one in measured):
        return ""
    return (
        "Published (Wang et al. 2025): GPT-3.5-turbo, NL4Opt's whole test set of 289 and ComplexOR's 37, tolerance "
        "'ormind', their own prompts. Ours: the model, set and tolerance named above, and our own words in the prompts."
    )


def published_table(subject: str) -> TextTable | None:
    """All that was published of a set; None where nothing was."""
    form = next((name for name in PUBLISHED if subject.startswith(name)), None)
    if form is None:
        return None
    rows, tokens = PUBLISHED[form], PROMPT_TOKENS[form]
    told = [
        (
            name,
            *("–" if rate is None else f"{rate:.1f}" for rate in rows.get(name, (None, None, None))),
            f"{GPT_4[form][name]:.1f}" if name in GPT_4[form] else "–",
            "{} ± {}".format(*tokens[name]) if name in tokens else "–",
        )
        for name in dict.fromkeys((*rows, *tokens))
    ]
    return TextTable(("published", "SR", "MFFR", "IEFR", "SR, GPT-4", "prompt tokens"), tuple(told))


def _rates(one: MeasuredMethod) -> tuple[str, ...]:
    cases = one.cases
    if not cases:
        return (one.contestant, f"0 of {one.total}", *("–",) * 10)
    found, tokens = rates(cases), [case.result["prompt_tokens"] for case in cases]
    interval = share([case.result["verdict"] == SolveVerdict.ACCEPT for case in cases])
    known = published(one.subject, one.contestant)
    spread = f" ± {stdev(tokens):.0f}" if len(tokens) > 1 else ""
    return (
        one.contestant,
        str(len(cases)) if len(cases) == one.total else f"{len(cases)} of {one.total}",
        f"{100 * found['SR']:.1f}",
        f"{100 * interval.low:.1f} to {100 * interval.high:.1f}",
        *(f"{100 * found[name]:.1f}" for name in ("MFFR", "IEFR", "wrong")),
        "–" if known is None else " / ".join("–" if rate is None else f"{rate:.1f}" for rate in known),
        f"{mean(case.spent.model_calls for case in cases):.1f}",
        f"{mean(tokens):.0f}{spread}",
        money(sum(case.spent.money for case in cases)),
        f"{sum(case.result['seconds'] for case in cases):.1f}",
    )


def _difference(one: ContestantDifference) -> tuple[str, ...]:
    return (
        f"{one.first} − {one.second}", str(one.pairs), f"{one.gain.mean:+.1f}",
        f"{one.gain.low:+.1f} to {one.gain.high:+.1f}", _p(one.p), _p(one.adjusted),
    )  # fmt: skip


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _ended(one: Finished) -> str:
    verdict = one.result["verdict"]
    if verdict == SolveVerdict.ACCEPT:
        return "accept"
    detail = one.result["status"] if verdict == SolveVerdict.MODEL_FAILURE else ""
    return f"{verdict.replace('_', ' ')}{f' ({detail})' if detail else ''}"
