"""The tables of a benchmark: scores beside the published ones and the floors, kinds of failure, groups, instances."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean
from typing import Any

from oragent._base.direction import Direction
from oragent._base.statistics import bootstrap
from oragent.evals.bench.differences import ModeScores, compare_pairs
from oragent.evals.bench.plan import BenchCell
from oragent.evals.bench.result import ModeScore
from oragent.evals.bench.tables import TextTable
from oragent.evals.workspace.difficulty import tertiles
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.published import HIGHS, MAIN, find
from oragent.ledger.study import Finished
from oragent.report.pages.format import format_money
from oragent.workspace.layout import Mode

PARTS = ("reasoning", "grounding", "answer_quality", "penalty")
FIELDS = {"build": "build", "revise-code": "revise_code", "revise-model": "revise_model", "revise-all": "revise_all",
          "explain": "explain"}  # fmt: skip


@dataclass(frozen=True)
class MeasuredAgent:
    """An agent on a mode, all seeds together.

    Attributes:
        subject: The mode.
        contestant: Label of the agent.
        settings: Its own settings.
        done: Cells with the instances that are done.
        total: Number of instances that there are to do.
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
    def points(self) -> list[float]:
        """Points of each instance: 100 or 0, or those of the answer."""
        return [_points(self.subject, one) for one in self.cases]

    @property
    def group(self) -> ModeScores:
        """Points by seed and instance."""
        return ModeScores(self.contestant, {
            (cell.seed, one.name): ModeScore(_points(self.subject, one))
            for cell, found in self.done.items() for one in found
        })  # fmt: skip


def _points(subject: str, one: Finished) -> float:
    if subject != Mode.EXPLAIN:
        return 100.0 if one.result["passed"] else 0.0
    return float(one.result["coverage"] if one.result["total"] is None else one.result["total"])


def score_table(subject: str, rows: Sequence[MeasuredAgent]) -> TextTable:
    """One row an agent, with a bootstrap interval over instances and what it took."""
    explain = subject == Mode.EXPLAIN
    own = ("coverage", *PARTS, "citations that fail") if explain else ("at 1e-6", "unbacked", "preserved", "kept")
    heads = ("agent", "instances", "points" if explain else "Pass@1", "95 %", *own, "named", "tool calls", "calls",
             "tokens", "money", "seconds")  # fmt: skip
    return TextTable(heads, tuple(_score_row(one, explain, len(own)) for one in rows))


def _score_row(one: MeasuredAgent, explain: bool, width: int) -> tuple[str, ...]:
    cases = one.cases
    if not cases:
        return (one.contestant, f"0 of {one.total}", *("–",) * (width + 8))
    interval = bootstrap(one.points)
    results = [case.result for case in cases]
    own = _explained(results) if explain else _programmed(results)
    named = [result["named"] for result in results if result["named"] is not None]
    return (
        one.contestant, str(len(cases)) if len(cases) == one.total else f"{len(cases)} of {one.total}",
        f"{interval.mean:.1f}", f"{interval.low:.1f} to {interval.high:.1f}", *own,
        f"{sum(named)} of {len(named)}" if named else "–", f"{mean(result['calls'] for result in results):.1f}",
        f"{mean(case.spent.model_calls for case in cases):.1f}", f"{mean(case.spent.tokens for case in cases):.0f}",
        format_money(sum(case.spent.money for case in cases)), f"{sum(result['seconds'] for result in results):.1f}",
    )  # fmt: skip


def _programmed(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    count = len(results)
    preserved = [bool(one["preserved"]) for one in results if one["preserved"] is not None]
    kept = [float(str(one["kept"])) for one in results if one["kept"] is not None]
    return (
        f"{100 * sum(bool(one['strict']) for one in results) / count:.1f}",
        str(sum(bool(one["unbacked"]) for one in results)),
        f"{sum(preserved)} of {len(preserved)}" if preserved else "–", f"{100 * mean(kept):.0f} %" if kept else "–",
    )  # fmt: skip


def _explained(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    marks = [one["marks"] for one in results if one["marks"]]
    parts = [f"{mean(one[name] for one in marks):.1f}" if marks else "–" for name in PARTS]
    broken = sum(len(one["broken_citations"]) for one in results)
    return f"{mean(float(str(one['coverage'])) for one in results):.2f}", *parts, str(broken)


def failure_table(rows: Sequence[MeasuredAgent]) -> TextTable | None:
    """Share of each kind of failure in percent; None where there is none."""
    counts = {one.contestant: Counter(case.result["outcome"] for case in one.cases) for one in rows}
    kinds = [
        str(kind)
        for kind in AttemptOutcome
        if kind is not AttemptOutcome.PASSED and any(kind in one for one in counts.values())
    ]
    if not kinds:
        return None
    body = [
        (one.contestant, *(f"{100 * counts[one.contestant][kind] / max(1, len(one.cases)):.1f}" for kind in kinds))
        for one in rows
    ]
    return TextTable(("agent", *kinds), tuple(body))


def difference_table(rows: Sequence[MeasuredAgent]) -> TextTable:
    """All pairs of agents on the instances that both did: points, paired sign-flip test with Holm."""
    pairs = combinations([one.group for one in rows], 2)
    body = [
        (f"{one.first} − {one.second}", str(one.pairs), f"{one.gain.mean:+.1f}",
         f"{one.gain.low:+.1f} to {one.gain.high:+.1f}", _p(one.p), _p(one.adjusted))
        for one in compare_pairs(pairs, "score", Direction.MAXIMIZE)
    ]  # fmt: skip
    return TextTable(("pair", "instances", "difference", "95 %", "p", "p, all pairs"), tuple(body))


def group_tables(subject: str, rows: Sequence[MeasuredAgent]) -> list[tuple[str, TextTable]]:
    """Mean points by family, by kind of revision or dimension, and by difficulty, which is found from the results."""
    found = []
    keys = {"family": "family", "operator": "revision", "depth": "depth", "dimension": "dimension"}
    for key, head in keys.items():
        groups = sorted({str(case.result.get(key) or "") for one in rows for case in one.cases} - {""})
        if len(groups) > 1:
            found.append((head, _grouped(subject, rows, groups, lambda case, key=key: str(case.result.get(key) or ""))))
    names = sorted({case.name for one in rows for case in one.cases})
    if len(rows) > 1 and len(names) > 2:
        cases = [case for one in rows for case in one.cases]
        means = [mean(_points(subject, case) for case in cases if case.name == name) for name in names]
        labels = dict(zip(names, map(str, tertiles(means)), strict=True))
        kinds = [kind for kind in ("Easy", "Medium", "Hard") if kind in labels.values()]
        found.append(("difficulty", _grouped(subject, rows, kinds, lambda case: labels[case.name])))
    return found


def _grouped(subject: str, rows: Sequence[MeasuredAgent], groups: Sequence[str], key: object) -> TextTable:
    assert callable(key)
    body = []
    for one in rows:
        cells = []
        for group in groups:
            points = [_points(subject, case) for case in one.cases if key(case) == group]
            cells.append(f"{mean(points):.1f} ({len(points)})" if points else "–")
        body.append((one.contestant, *cells))
    return TextTable(("agent", *groups), tuple(body))


def instance_table(rows: Sequence[MeasuredAgent]) -> TextTable:
    """One row an instance and seed: what each agent came to."""
    names = dict.fromkeys((cell.seed, one.name) for row in rows for cell, found in row.done.items() for one in found)
    ends = [{(cell.seed, one.name): _ended(one) for cell, found in row.done.items() for one in found} for row in rows]
    body = [(f"{name}, seed {seed}", *(one.get((seed, name), "–") for one in ends)) for seed, name in names]
    return TextTable(("instance", *(row.contestant for row in rows)), tuple(body))


def _ended(one: Finished) -> str:
    told = str(one.result["outcome"])
    if one.result.get("planted"):
        told += f"; planted {one.result['planted']}{'' if one.result['named'] else ', not named'}"
    elif one.result.get("differences"):
        told += f"; {one.result['differences'][0]}"
    return told


def floor_lines(subject: str, labels_floor: float | None) -> list[str]:
    """What outputs that say nothing come to on this mode."""
    if labels_floor is None:
        return []
    what = "giving the question back covers" if subject == Mode.EXPLAIN else "doing nothing passes"
    unit = "points of 35" if subject == Mode.EXPLAIN else "%"
    return [f"floor: {what} {labels_floor:.2f} {unit}"]


def published_table(subject: str, rows: Sequence[MeasuredAgent]) -> TextTable:
    """What was published of this mode: the same models where they took part, else the best and the last."""
    name = FIELDS[subject]
    same = [found for one in rows if (found := find(str(one.settings.get("agent", "")))) is not None]
    told = [(f"{one.model} (Gurobi)", getattr(one, name)) for one in same or MAIN]
    told += [(f"{one.model} (HiGHS)", getattr(one, name)) for one in HIGHS]
    return TextTable(
        ("published", subject), tuple((model, "–" if value is None else f"{value:g}") for model, value in told)
    )


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
