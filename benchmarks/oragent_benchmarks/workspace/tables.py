"""Tables of a benchmark: scores with published ones and baselines, kinds of failure, groups, instances."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from oragent._base.statistics import MeanInterval, bootstrap_mean
from oragent.evals.bench.result import ModeScores
from oragent.evals.bench.tables import TextTable
from oragent.ledger.study import FinishedCase
from oragent.report.pages.text import format_money
from oragent.workspace.layout import Mode
from oragent_benchmarks.cases import MeasuredCases
from oragent_benchmarks.workspace.grading import AttemptOutcome

PROGRAM_HEADS = ("at 1e-6", "backed")
PARTS = ("reasoning", "grounding", "answer_quality", "penalty")


@dataclass(frozen=True)
class MeasuredAgent(MeasuredCases):
    """Results of an agent on a mode, over all seeds."""

    @property
    def points(self) -> list[float]:
        """Points of each instance: 100 or 0, or the points of the answer."""
        return [_case_points(self.subject, case) for case in self.cases]

    @property
    def group(self) -> ModeScores:
        """Points by seed and instance."""
        return self.score_cases(lambda case: _case_points(self.subject, case))


def _case_points(subject: str, case: FinishedCase) -> float:
    if subject != Mode.EXPLAIN:
        if case.result["passed"]:
            return 100.0
        return 0.0
    return float(case.result["coverage"] if case.result["total"] is None else case.result["total"])


def score_table(subject: str, rows: Sequence[MeasuredAgent]) -> TextTable:
    """Return one row per agent: the score with its interval over instances, and the cost.

    The interval of a pass rate is the exact binomial one; that of points is a bootstrap interval.
    """
    explain = subject == Mode.EXPLAIN
    columns = ("coverage", *PARTS, "citations that fail") if explain else PROGRAM_HEADS
    heads = (
        "agent",
        "instances",
        "points" if explain else "Pass@1",
        "95 %",
        *columns,
        "tool calls",
        "calls",
        "tokens",
        "money",
        "seconds",
    )
    return TextTable(heads, tuple(_score_row(agent, explain, len(columns)) for agent in rows))


def _score_row(agent: MeasuredAgent, explain: bool, width: int) -> tuple[str, ...]:
    cases = agent.cases
    if not cases:
        return (agent.contestant, f"0 of {agent.total}", *("–",) * (width + 7))
    interval = bootstrap_mean(agent.points) if explain else _pass_interval(agent.points)
    results = [case.result for case in cases]
    cells = _answer_cells(results) if explain else _program_cells(results)
    return (
        agent.contestant,
        agent.count_text,
        f"{interval.mean:.1f}",
        f"{interval.low:.1f} to {interval.high:.1f}",
        *cells,
        f"{mean(result['calls'] for result in results):.1f}",
        f"{mean(case.spent.model_calls for case in cases):.1f}",
        f"{mean(case.spent.tokens for case in cases):.0f}",
        format_money(sum(case.spent.money for case in cases)),
        f"{sum(result['seconds'] for result in results):.1f}",
    )


def _pass_interval(points: Sequence[float]) -> MeanInterval:
    """Return the pass rate in percent with its exact binomial interval (Clopper & Pearson 1934) at 95 %."""
    # Imported here because it is slow to import.
    from scipy.stats import binomtest

    passed = sum(value > 0 for value in points)
    exact = binomtest(passed, len(points)).proportion_ci(0.95, "exact")
    return MeanInterval(100.0 * passed / len(points), 100.0 * float(exact.low), 100.0 * float(exact.high))


def _program_cells(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    count = len(results)
    passed = [result for result in results if result["passed"]]
    return (
        f"{100 * sum(bool(result['strict']) for result in results) / count:.1f}",
        f"{sum(not result['unbacked'] for result in passed)} of {len(passed)}" if passed else "–",
    )


def _answer_cells(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    marks = [result["marks"] for result in results if result["marks"]]
    parts = [f"{mean(result[name] for result in marks):.1f}" if marks else "–" for name in PARTS]
    broken = sum(len(result["broken_citations"]) for result in results)
    return f"{mean(float(str(result['coverage'])) for result in results):.2f}", *parts, str(broken)


def failure_table(rows: Sequence[MeasuredAgent]) -> TextTable | None:
    """Return the share of each kind of failure in percent; None without failures."""
    counts = {agent.contestant: Counter(case.result["outcome"] for case in agent.cases) for agent in rows}
    failures = [kind for kind in AttemptOutcome if kind is not AttemptOutcome.PASSED]
    kinds = [str(kind) for kind in failures if any(kind in agent for agent in counts.values())]
    if not kinds:
        return None
    body = []
    for agent in rows:
        shares = (100 * counts[agent.contestant][kind] / max(1, len(agent.cases)) for kind in kinds)
        body.append((agent.contestant, *(f"{share:.1f}" for share in shares)))
    return TextTable(("agent", *kinds), tuple(body))


def group_table(subject: str, rows: Sequence[MeasuredAgent]) -> TextTable | None:
    """Return mean points by dimension of the question; None for programs and for a single dimension."""
    groups = sorted({case.result.get("group", "") for agent in rows for case in agent.cases} - {""})
    if len(groups) < 2:
        return None
    body = []
    for agent in rows:
        cells = []
        for group in groups:
            points = [_case_points(subject, case) for case in agent.cases if case.result["group"] == group]
            cells.append(f"{mean(points):.1f} ({len(points)})" if points else "–")
        body.append((agent.contestant, *cells))
    return TextTable(("agent", *groups), tuple(body))
