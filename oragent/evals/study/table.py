"""The study's table: scores, and where each lies between the worst and the best of its problem."""

from collections.abc import Mapping, Sequence
from statistics import mean

from oragent.evals.bench.summary import BenchSummary, SummaryRow
from oragent.evals.bench.tables import TextTable
from oragent.report.pages import format as in_words

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
SCORES, SHARES, STUDY = "scores", "from the worst (0) to the best (1)", "the same, as the study printed it"
AVERAGE = "average"  # name of the last row
NONE = "–"  # where there is nothing to show


def normalise_scores(scores: Mapping[str, float], sign: float) -> dict[str, float] | None:
    """|score - worst| / |best - worst| of each contestant: 0 for the worst, 1 for the best.

    Args:
        scores: Mean final score of each contestant on a problem.
        sign: 1 where more is better, -1 where less is.

    Returns:
        None where all are equal, so that there is no scale.
    """
    worst, best = (
        min(scores.values(), key=lambda value: sign * value),
        max(scores.values(), key=lambda value: sign * value),
    )
    if worst == best:
        return None
    return {name: abs(score - worst) / abs(best - worst) for name, score in scores.items()}


def make_tables(summary: BenchSummary) -> dict[str, TextTable]:
    """Final scores, normalised scores and those that the study printed, in tables that a terminal has room for."""
    finals = {subject.name: _final_means(subject.rows) for subject in summary.subjects}
    names = [name for name in summary.contestants if any(name in scores for scores in finals.values())]
    shares = {item.name: normalise_scores(finals[item.name], item.direction.sign) or {} for item in summary.subjects}
    shares[AVERAGE] = average_shares(summary)
    heads = ("problem", *names)
    values = [
        (name, *(in_words.format_score(scores[item]) if item in scores else NONE for item in names))
        for name, scores in finals.items()
    ]
    places = [(name, *(_format_share(scores.get(item)) for item in names)) for name, scores in shares.items()]
    tables = {SCORES: TextTable(heads, tuple(values)), SHARES: TextTable(heads, tuple(places))}
    if set(names) == set(METHODS):
        printed_rows = {name: PRINTED[name] for name in finals if name in PRINTED}
        printed_rows[AVERAGE] = tuple(mean(column) for column in zip(*printed_rows.values(), strict=True))
        printed = [
            (name, *([_format_share(item) for item in printed_rows.get(name, ())] or [NONE] * len(METHODS)))
            for name in shares
        ]
        tables[STUDY] = TextTable(("problem", *METHODS), tuple(printed))
    return tables


def join_tables(parts: Mapping[str, TextTable]) -> TextTable:
    """The same in one wide table: each score with its normalised score, and the study's beside."""
    values = {row[0]: row[1:] for row in parts[SCORES].rows}
    beside = parts.get(STUDY, TextTable(("problem",), tuple((row[0],) for row in parts[SHARES].rows)))
    rows = []
    for (name, *shares), (_, *printed) in zip(parts[SHARES].rows, beside.rows, strict=True):
        both = zip(values.get(name, [""] * len(shares)), shares, strict=True)
        rows.append((name, *(_format_cell(value, share) for value, share in both), *printed))
    return TextTable((*parts[SHARES].heads, *(f"printed: {name}" for name in beside.heads[1:])), tuple(rows))


def average_shares(summary: BenchSummary) -> dict[str, float]:
    """Mean normalised score of each contestant that has one on every problem where there is a scale."""
    all_shares = [normalise_scores(_final_means(subject.rows), subject.direction.sign) for subject in summary.subjects]
    shares_with_scale = [shares for shares in all_shares if shares]
    names = [
        name
        for name in summary.contestants
        if shares_with_scale and all(name in shares for shares in shares_with_scale)
    ]
    return {name: mean(shares[name] for shares in shares_with_scale) for name in names}


def write_markdown(table: TextTable) -> str:
    """A table as Markdown."""
    lines = [table.heads, ("---",) * len(table.heads), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines) + "\n"


def _final_means(rows: Sequence[SummaryRow]) -> dict[str, float]:
    return {row.contestant: row.means["val"].mean for row in rows if "val" in row.means}


def _format_share(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def _format_cell(value: str, share: str) -> str:
    if value == NONE:
        return NONE
    return f"{value} ({share})" if value else share
