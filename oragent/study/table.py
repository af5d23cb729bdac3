"""The study's table: scores, and where each lies between the worst and the best of its problem."""

from collections.abc import Mapping, Sequence
from statistics import mean

from oragent.bench.summary import Row, Summary
from oragent.bench.tables import Table
from oragent.pages import format as in_words

__all__ = ["PRINTED", "averages", "markdown", "narrow", "normalised", "scores"]

# Normalised scores of the study's Table 1, each of one run: FunSearch, AEL, EoH, ReEvo, OR-Agent.
PRINTED: Mapping[str, tuple[float, ...]] = {
    "tsp_constructive": (0.0, 0.878, 0.788, 1.0, 0.959),
    "tsp_aco": (0.252, 0.0, 0.386, 0.258, 1.0),
    "tsp_pomo": (0.0, 0.975, 1.0, 0.771, 0.884),
    "tsp_lehd": (0.648, 0.0, 0.175, 0.259, 1.0),
    "cvrp_aco": (0.0, 0.403, 1.0, 0.471, 0.680),
    "cvrp_pomo": (0.0, 1.0, 0.418, 0.681, 0.986),
    "cvrp_lehd": (0.0, 0.285, 0.855, 0.033, 1.0),
    "bpp_online": (0.913, 1.0, 0.728, 0.0, 0.948),
    "bpp_offline_aco": (0.290, 0.270, 0.0, 0.290, 1.0),
    "dpp_ga": (0.294, 0.0, 1.0, 0.190, 0.787),
    "mkp_aco": (0.833, 0.0, 0.633, 0.951, 1.0),
    "op_aco": (0.653, 0.916, 0.0, 1.0, 0.839),
}
METHODS = ("funsearch", "ael", "eoh", "reevo", "or_agent")
PREFIX = "printed: "


def normalised(scores: Mapping[str, float], sign: float) -> dict[str, float] | None:
    """|score - worst| / |best - worst| of each contestant: 0 for the worst, 1 for the best.

    Args:
        scores: Mean final score of each contestant on a problem.
        sign: 1 where more is better, -1 where less is.

    Returns:
        None where all are equal, so that there is no scale.
    """
    worst, best = min(scores.values(), key=lambda one: sign * one), max(scores.values(), key=lambda one: sign * one)
    if worst == best:
        return None
    return {name: abs(score - worst) / abs(best - worst) for name, score in scores.items()}


def scores(summary: Summary) -> Table:
    """Final scores of every contestant on every problem, each with its normalised score, and the study's beside."""
    names = [name for name in summary.contestants if any(name in _finals(one.rows) for one in summary.subjects)]
    beside = set(names) == set(METHODS)
    heads = ("problem", *names, *([f"{PREFIX}{name}" for name in METHODS] if beside else []))
    rows = []
    for subject in summary.subjects:
        own = _finals(subject.rows)
        shares = normalised(own, subject.direction.sign) or {}
        cells = [f"{in_words.score(own[name])} ({_share(shares.get(name))})" if name in own else "–" for name in names]
        printed = [_share(value) for value in PRINTED.get(subject.name, ())] or ["–"] * len(METHODS)
        rows.append((subject.name, *cells, *(printed if beside else ())))
    ours = averages(summary)
    last = [_share(ours.get(name)) for name in names]
    known = [PRINTED[subject.name] for subject in summary.subjects if subject.name in PRINTED]
    printed = [_share(mean(column)) for column in zip(*known, strict=True)] or ["–"] * len(METHODS)
    rows.append(("average", *last, *(printed if beside else ())))
    return Table(heads, tuple(rows))


def narrow(table: Table) -> dict[str, Table]:
    """What a wide table of :func:`scores` says in tables that a terminal has room for, by what each shows."""
    own = [place for place, head in enumerate(table.heads) if place and not head.startswith(PREFIX)]
    beside = [place for place, head in enumerate(table.heads) if head.startswith(PREFIX)]
    heads = ("problem", *(table.heads[place] for place in own))
    values = tuple((row[0], *(row[place].partition(" (")[0] for place in own)) for row in table.rows[:-1])
    shares = [(row[0], *(row[place].rpartition("(")[2].rstrip(")") for place in own)) for row in table.rows]
    found = {"scores": Table(heads, values), "from the worst (0) to the best (1)": Table(heads, tuple(shares))}
    if beside:
        printed = tuple((row[0], *(row[place] for place in beside)) for row in table.rows)
        found["the same, as the study printed it"] = Table(
            ("problem", *(table.heads[place].removeprefix(PREFIX) for place in beside)), printed
        )
    return found


def averages(summary: Summary) -> dict[str, float]:
    """Mean normalised score of each contestant that has one on every problem where there is a scale."""
    found = [normalised(_finals(one.rows), one.direction.sign) for one in summary.subjects]
    known = [shares for shares in found if shares]
    names = [name for name in summary.contestants if known and all(name in shares for shares in known)]
    return {name: mean(shares[name] for shares in known) for name in names}


def markdown(table: Table) -> str:
    """A table as Markdown."""
    lines = [table.heads, ("---",) * len(table.heads), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines) + "\n"


def _finals(rows: Sequence[Row]) -> dict[str, float]:
    return {row.contestant: row.means["val"].mean for row in rows if "val" in row.means}


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
