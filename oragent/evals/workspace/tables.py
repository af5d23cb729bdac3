"""Tables of a benchmark: scores with published ones and baselines, kinds of failure, groups, instances."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, combinations_with_replacement
from statistics import mean
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent._base.statistics import MeanInterval, bootstrap_mean
from oragent.evals.bench.cases import MeasuredCases, case_table
from oragent.evals.bench.result import ModeScores
from oragent.evals.bench.tables import TextTable
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.rubric import Rubric, coverage_points, exact_decisions
from oragent.evals.workspace.views import WorkspaceTask
from oragent.ledger.study import FinishedCase
from oragent.report.pages.text import format_money
from oragent.workspace.layout import Mode
from oragent.workspace.reading import list_files, read_text, shorten

# Maximum number of listed names.
MOST_MISSING = 12
PROGRAM_HEADS = ("at 1e-6", "backed", "equivalent", "preserved", "kept")
PARTS = ("reasoning", "grounding", "answer_quality", "penalty")


class Difficulty(StrEnum):
    """Difficulty of an instance relative to the others of its mode."""

    EASY = "Easy"
    MEDIUM = "Medium"
    HARD = "Hard"


def tertiles(results: Sequence[float]) -> list[Difficulty]:
    """Divide instances into three groups by difficulty. The best results are easy.

    Equal results stay together. The division minimises the squared deviation of group sizes from a third. If several
    divisions do so, the one with the fewest easy, then the fewest medium instances is used (Zhou et al. 2026).
    """
    if any(result != result for result in results):
        raise WorkspaceError("a result is NaN; expected a pass rate or a mean score for each instance")
    counts = sorted(Counter(results).items(), reverse=True)
    ends = [0, *accumulate(count for _, count in counts)]
    total = len(results)

    def cost(cut: tuple[int, int]) -> tuple[int, int, int]:
        sizes = (cut[0], cut[1] - cut[0], total - cut[1])
        return sum((3 * size - total) ** 2 for size in sizes), sizes[0], sizes[1]

    easy, medium = min(combinations_with_replacement(ends, 2), key=cost)
    labels = [
        Difficulty.EASY if end <= easy else Difficulty.MEDIUM if end <= medium else Difficulty.HARD for end in ends[1:]
    ]
    of_result = {result: label for (result, _), label in zip(counts, labels, strict=True)}
    return [of_result[result] for result in results]


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
        "named",
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
        return (agent.contestant, f"0 of {agent.total}", *("–",) * (width + 8))
    interval = bootstrap_mean(agent.points) if explain else _pass_interval(agent.points)
    results = [case.result for case in cases]
    cells = _answer_cells(results) if explain else _program_cells(results)
    named = [result["named"] for result in results if result["named"] is not None]
    return (
        agent.contestant,
        agent.count_text,
        f"{interval.mean:.1f}",
        f"{interval.low:.1f} to {interval.high:.1f}",
        *cells,
        f"{sum(named)} of {len(named)}" if named else "–",
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
    preserved = [bool(result["preserved"]) for result in results if result["preserved"] is not None]
    shares = [float(str(result["kept"])) for result in results if result["kept"] is not None]
    passed = [result for result in results if result["passed"]]
    equivalent = [bool(result["equivalent"]) for result in passed if result.get("equivalent") is not None]
    return (
        f"{100 * sum(bool(result['strict']) for result in results) / count:.1f}",
        f"{sum(not result['unbacked'] for result in passed)} of {len(passed)}" if passed else "–",
        f"{sum(equivalent)} of {len(equivalent)}" if equivalent else "–",
        f"{sum(preserved)} of {len(preserved)}" if preserved else "–",
        f"{100 * mean(shares):.0f} %" if shares else "–",
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


def group_tables(subject: str, rows: Sequence[MeasuredAgent]) -> list[tuple[str, TextTable]]:
    """Return mean points by family, by kind of revision or dimension, and by difficulty.

    Difficulty depends on results.
    """
    tables = []
    keys = {"family": "family", "operator": "revision", "depth": "depth", "dimension": "dimension"}
    for key, head in keys.items():
        groups = sorted({str(case.result.get(key) or "") for agent in rows for case in agent.cases} - {""})
        if len(groups) > 1:
            tables.append(
                (head, _group_table(subject, rows, groups, lambda case, key=key: str(case.result.get(key) or "")))
            )
    names = sorted({case.name for agent in rows for case in agent.cases})
    if len(rows) > 1 and len(names) > 2:
        cases = [case for agent in rows for case in agent.cases]
        means = [mean(_case_points(subject, case) for case in cases if case.name == name) for name in names]
        labels = dict(zip(names, map(str, tertiles(means)), strict=True))
        kinds = [kind for kind in ("Easy", "Medium", "Hard") if kind in labels.values()]
        tables.append(("difficulty", _group_table(subject, rows, kinds, lambda case: labels[case.name])))
    return tables


def _group_table(subject: str, rows: Sequence[MeasuredAgent], groups: Sequence[str], key: object) -> TextTable:
    assert callable(key)
    body = []
    for agent in rows:
        cells = []
        for group in groups:
            points = [_case_points(subject, case) for case in agent.cases if key(case) == group]
            cells.append(f"{mean(points):.1f} ({len(points)})" if points else "–")
        body.append((agent.contestant, *cells))
    return TextTable(("agent", *groups), tuple(body))


def instance_table(rows: Sequence[MeasuredAgent]) -> TextTable:
    """Return one row per instance and seed: the outcome of each agent."""
    return case_table(rows, "instance", _describe_end)


def _describe_end(case: FinishedCase) -> str:
    text = str(case.result["outcome"])
    if case.result.get("planted"):
        text += f"; planted {case.result['planted']}{'' if case.result['named'] else ', not named'}"
    elif case.result.get("differences"):
        text += f"; {case.result['differences'][0]}"
    return text


def ceiling_lines(tasks: Sequence[WorkspaceTask], rubrics: Iterable[Rubric]) -> list[str]:
    """Describe the highest reachable score. An answer cannot name entities that occur in no file and no question."""
    by_number = {rubric.number: rubric for rubric in rubrics}
    ceilings, missing = [], []
    for task in tasks:
        rubric = by_number.get(task.number)
        if rubric is None:
            continue
        texts = [rubric.question]
        for file in list_files(task.view).values():
            with suppress(WorkspaceError):
                texts.append(read_text(file))
        named = exact_decisions(rubric, "\n".join(texts))
        ceilings.append(coverage_points(rubric, named, {one.id: True for one in rubric.semantic}))
        entities = {f"{one.id}.e{at}": entity for one in rubric.exact for at, entity in enumerate(one.entities, 1)}
        missing += [f"{task.number} {shorten(entities[key], 40)!r}" for key, is_named in named.items() if not is_named]
    if not ceilings:
        return []
    more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
    unattainable = f"; in no file: {', '.join(missing[:MOST_MISSING])}{more}" if missing else ""
    return [f"ceiling: {mean(ceilings):.2f} points of 35 can be reached by names that stand in the files{unattainable}"]
