"""Comparison of the modes of a benchmark: gains by visible files, correlations, points by tokens, published results.

Zhou et al. 2026, "OR-Space: A Full-Lifecycle Workspace Benchmark for Industrial Optimization Agents", version 1: 100
instances of each mode, Gurobi 12.0.1, 120 s per run, temperature at most 0.1, 32,768 completion tokens (gpt-4o 16,384).
Results are Pass@1 in percent for build and revise, and the mean score of 100 for explain, whose judge is gpt-5.1. The
paper also reports rates of execution and feasibility, file system against flat, revise-all and -model less -code,
correlations of tasks, the range over solver tracks, and points for prompt tokens with their Pareto front.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from statistics import StatisticsError, correlation, mean

from oragent.evals.bench.tables import TextTable
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.tables import MeasuredAgent
from oragent.workspace.layout import Mode

PROTOCOL = "Gurobi 12.0.1, 120 s a run, temperature at most 0.1; other solvers and time limits differ from ours"


@dataclass(frozen=True)
class Scores:
    """Results of one model: percent passed, or for explain the mean of 100 points. None if not published."""

    model: str
    build: float
    revise_code: float
    revise_all: float | None
    revise_model: float | None
    explain: float


@dataclass(frozen=True)
class PublishedSolver:
    """Mean scores over models for one solver. ``range`` is the largest minus the smallest score of the five solvers."""

    solver: str
    build: float
    revise_model: float
    revise_code: float
    revise_all: float
    explain: float
    range: float


@dataclass(frozen=True)
class Flat:
    """Scores of one model with tools in a file system, and with all files in one prompt, as pairs."""

    model: str
    build: tuple[float, float]
    revise_code: tuple[float, float]
    explain: tuple[float, float]


MAIN = (
    Scores("gemini-3.1-pro", 72, 81, 91, 84, 73.00),
    Scores("claude-opus-4-6", 62, 80, 93, 81, 80.20),
    Scores("gpt-5-mini", 58, 77, 86, 80, 82.94),
    Scores("claude-sonnet-4.5-thinking", 53, 76, 84, 73, 79.63),
    Scores("gemini-2.5-flash", 53, 66, 67, 59, 13.79),
    Scores("gpt-4o", 25, 36, 45, 22, 59.36),
    Scores("deepseek-r1-0528", 55, 65, 72, 70, 44.40),
    Scores("qwen3-max", 49, 60, 71, 71, 74.66),
    Scores("qwen3-32b-thinking", 28, 32, 31, 28, 61.28),
    Scores("qwen3-8b", 22, 12, 9, 11, 55.19),
    Scores("gemini-3-flash", 68, 45, 52, 70, 53.24),
    Scores("gpt-5.4", 59, 79, 90, 85, 86.52),
    Scores("claude-sonnet-4.5", 53, 78, 83, 70, 77.58),
    Scores("gpt-5.1", 53, 71, 84, 79, 76.16),
    Scores("gemini-2.5-pro", 47, 69, 89, 71, 32.22),
    Scores("deepseek-v4-pro", 67, 71, 86, 82, 68.87),
    Scores("deepseek-v4-flash", 54, 63, 73, 64, 77.77),
    Scores("qwen3-32b", 32, 20, 32, 24, 61.32),
    Scores("qwen3.5-27b", 25, 48, 40, 41, 77.88),
    Scores("qwen3-14b", 20, 19, 18, 16, 61.03),
)

# From a later, withdrawn state of the release: Gurobi 13.0.1, 180 s; some rows combine two runs.
SNAPSHOT = (
    Scores("gemini-3.1-pro", 72, 87, None, None, 73.0),
    Scores("claude-opus-4-6", 62, 87, None, None, 80.2),
    Scores("gpt-5.4", 59, 85, None, None, 86.5),
)

# Solver track most similar to this benchmark.
HIGHS = (
    Scores("gemini-3.1-pro", 66, 77, 76, 76, 57.65),
    Scores("claude-opus-4-6", 67, 83, 84, 87, 75.25),
    Scores("gpt-5.4", 59, 80, 85, 85, 82.20),
    Scores("qwen3-32b", 34, 19, 23, 25, 53.68),
    Scores("qwen3-8b", 7, 2, 1, 2, 53.27),
)

SOLVERS = (
    PublishedSolver("Gurobi", 47.8, 59.0, 57.4, 64.8, 64.9, 17.1),
    PublishedSolver("COPT", 38.3, 46.6, 49.1, 52.4, 57.1, 18.8),
    PublishedSolver("PuLP/CBC", 47.2, 53.5, 59.0, 62.1, 56.1, 14.9),
    PublishedSolver("HiGHS", 45.4, 50.6, 52.1, 48.6, 55.2, 9.9),
)

FLAT = (
    Flat("gemini-3.1-pro", (72, 72), (81, 94), (73.00, 72.55)),
    Flat("deepseek-v4-pro", (67, 70), (71, 85), (68.87, 68.76)),
    Flat("gpt-5.4", (59, 66), (79, 89), (86.52, 86.17)),
    Flat("claude-sonnet-4.5", (53, 62), (78, 85), (77.58, 75.68)),
    Flat("qwen3-max", (49, 60), (60, 75), (74.66, 77.19)),
    Flat("gpt-4o", (25, 44), (36, 50), (59.36, 57.55)),
)

CORRELATIONS = {("build", "revise"): 0.82, ("build", "explain"): 0.16, ("revise", "explain"): 0.28}
"""Over the 20 models; the ranks of models with Gurobi and with COPT correlate by 0.73."""

REVISE_FAILURES = {
    "WrongValue": 19.1,
    "RuntimeError": 18.2,
    "TypeError": 3.1,
    "module_not_found": 2.8,
    "NameError": 2.2,
}
"""Per cent of 2,000 trials of revise, by the release's labels."""


FIELDS = {
    "build": "build",
    "revise-code": "revise_code",
    "revise-model": "revise_model",
    "revise-all": "revise_all",
    "explain": "explain",
}
DASH = "–"
NOT_EXECUTED = frozenset(
    (AttemptOutcome.NO_ATTEMPT, AttemptOutcome.TIMEOUT, AttemptOutcome.MEMORY, AttemptOutcome.RUNTIME_ERROR)
)
NOT_FEASIBLE = NOT_EXECUTED.union(
    (AttemptOutcome.NO_MODEL, AttemptOutcome.NO_OBJECTIVE, AttemptOutcome.INFEASIBLE, AttemptOutcome.UNBOUNDED)
)
# Means over the models concerned, from Zhou et al. 2026.
PUBLISHED_GAINS = {
    "revise-all − revise-code": mean(one.revise_all - one.revise_code for one in MAIN if one.revise_all is not None),
    "revise-model − revise-code": mean(
        one.revise_model - one.revise_code for one in MAIN if one.revise_model is not None
    ),
    "revise-code − build": mean(one.revise_code - one.build for one in MAIN),
    "build, filesystem − flat": mean(one.build[0] - one.build[1] for one in FLAT),
    "revise-code, filesystem − flat": mean(one.revise_code[0] - one.revise_code[1] for one in FLAT),
    "explain, filesystem − flat": mean(one.explain[0] - one.explain[1] for one in FLAT),
}


def find_scores(model: str) -> Scores | None:
    """Return a model's row of the main table, or None if the paper has no such model."""
    return next((row for row in MAIN if row.model == model), None)


def rate_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Tabulate shares of finished programs and of programs with a point, by mode; None without programs."""
    modes = [subject for subject in agents_by_mode if subject != Mode.EXPLAIN]
    if not modes:
        return None
    heads = tuple(f"{subject}: {what}" for subject in modes for what in ("executed %", "feasible %"))
    rows = []
    for name, by_mode in _by_agent(agents_by_mode).items():
        cells: list[str] = []
        for subject in modes:
            outcomes = [case.result["outcome"] for case in by_mode[subject].cases] if subject in by_mode else []
            cells += [
                _format_share(sum(outcome not in bad for outcome in outcomes), len(outcomes))
                for bad in (NOT_EXECUTED, NOT_FEASIBLE)
            ]
        rows.append((name, *cells))
    return TextTable(("agent", *heads), tuple(rows))


def gain_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Tabulate differences of points between modes, interfaces and tracks, and correlations of modes over agents."""
    rows: list[tuple[str, ...]] = []
    points = {
        (subject, agent.contestant): mean(agent.points)
        for subject, every in agents_by_mode.items()
        for agent in every
        if agent.cases
    }
    agents = list(_by_agent(agents_by_mode))
    for first, second in (("revise-all", "revise-code"), ("revise-model", "revise-code"), ("revise-code", "build")):
        shared = [name for name in agents if (first, name) in points and (second, name) in points]
        rows += [_gain_row(f"{first} − {second}", name, points[first, name] - points[second, name]) for name in shared]
    for subject, every in agents_by_mode.items():
        for key, what in (("interface", "filesystem − flat"), ("track", "pulp-highs − highspy")):
            one_side, other_side = what.split(" − ")
            for agent, twin in _pair_twins(every, key, one_side, other_side):
                rows.append(_gain_row(f"{subject}, {what}", agent.contestant, mean(agent.points) - mean(twin.points)))
    for pair in combinations(agents_by_mode, 2):
        shared = [name for name in agents if all((subject, name) in points for subject in pair)]
        r = _correlate(*([points[subject, name] for name in shared] for subject in pair))
        published = CORRELATIONS.get((pair[0].split("-")[0], pair[1].split("-")[0]))
        if r is not None:
            rows.append(
                (
                    f"correlation of {pair[0]} and {pair[1]}",
                    f"{len(shared)} agents",
                    f"{r:.2f}",
                    DASH if published is None else f"{published:.2f}",
                )
            )
    return TextTable(("what", "agent", "ours", "published"), tuple(rows)) if rows else None


def track_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Tabulate points by solver track, means over agents, and the range over modes; None for a single mode."""
    if len(agents_by_mode) < 2:
        return None
    by_track: dict[str, dict[str, list[float]]] = {}
    for subject, every in agents_by_mode.items():
        for agent in every:
            if agent.cases and "track" in agent.settings:
                by_track.setdefault(str(agent.settings["track"]), {}).setdefault(subject, []).append(mean(agent.points))
    rows = []
    for track, points in by_track.items():
        means = {subject: mean(every) for subject, every in points.items()}
        cells = (f"{means[subject]:.1f}" if subject in means else DASH for subject in agents_by_mode)
        apart = f"{max(means.values()) - min(means.values()):.1f}" if len(means) > 1 else DASH
        rows.append((track, *cells, apart))
    return TextTable(("track", *agents_by_mode, "range"), tuple(rows)) if rows else None


def token_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Tabulate points by prompt tokens, for each mode and for revise minus build; None without model calls."""
    rows = []
    for subject, every in agents_by_mode.items():
        measured = [
            (agent.contestant, mean(agent.points), _mean_prompt_tokens(agent))
            for agent in every
            if agent.cases and _mean_prompt_tokens(agent)
        ]
        for name, points, tokens in measured:
            best = not any(p >= points and t <= tokens and (p, t) != (points, tokens) for _, p, t in measured)
            figures = (f"{points:.1f}", f"{tokens:.0f}", f"{1000 * points / tokens:.2f}")
            rows.append((subject, name, *figures, "yes" if best else "no", DASH))
    for name, by_mode in _by_agent(agents_by_mode).items():
        build, revise = by_mode.get("build"), by_mode.get("revise-code")
        if build is None or revise is None or not (build.cases and revise.cases):
            continue
        more = _mean_prompt_tokens(revise) - _mean_prompt_tokens(build)
        if more > 0:
            gain = mean(revise.points) - mean(build.points)
            figures = (f"{gain:+.1f}", f"{more:.0f}", DASH)
            rows.append(("revise-code − build", name, *figures, DASH, f"{1000 * gain / more:+.2f}"))
    heads = (
        "mode",
        "agent",
        "points",
        "prompt tokens",
        "points per 1,000 tokens",
        "on the front",
        "points per 1,000 more",
    )
    return TextTable(heads, tuple(rows)) if rows else None


def published_table(subject: str, rows: Sequence[MeasuredAgent]) -> TextTable:
    """Return the published scores of this mode for the same models, or else for the best and the last one."""
    name = FIELDS[subject]
    same = [
        scores_row for scores in rows if (scores_row := find_scores(str(scores.settings.get("agent", "")))) is not None
    ]
    pairs = [(f"{scores.model} (Gurobi)", getattr(scores, name)) for scores in same or MAIN]
    pairs += [(f"{scores.model} (HiGHS)", getattr(scores, name)) for scores in HIGHS]
    return TextTable(
        ("published", subject), tuple((model, "–" if value is None else f"{value:g}") for model, value in pairs)
    )


def published_tables() -> list[tuple[str, TextTable]]:
    """Return all published tables, for the page."""
    heads = ("model", "build", "revise-code", "revise-all", "revise-model", "explain")
    solver_heads = ("solver", "build", "revise-model", "revise-code", "revise-all", "explain", "range")
    flat = [(name, *(f"{first:g} / {second:g}" for first, second in pairs)) for name, *pairs in map(astuple, FLAT)]
    failures = [(kind, f"{share:g}") for kind, share in REVISE_FAILURES.items()]
    return [
        ("Models, Gurobi", TextTable(heads, _published_rows(MAIN))),
        ("Models, HiGHS: the track nearest to ours", TextTable(heads, _published_rows(HIGHS))),
        ("A later state of the release, withdrawn since", TextTable(heads, _published_rows(SNAPSHOT))),
        ("Means by solver", TextTable(solver_heads, _published_rows(SOLVERS))),
        ("File system / flat", TextTable(("model", "build", "revise-code", "explain"), tuple(flat))),
        ("Failures of revise, % of 2,000 trials", TextTable(("kind", "%"), tuple(failures))),
    ]


def _published_rows(scores: Sequence[Scores | PublishedSolver]) -> tuple[tuple[str, ...], ...]:
    """Return rows with the figures in the order of the fields."""
    return tuple(
        (name, *(DASH if value is None else f"{value:g}" for value in figures))
        for name, *figures in map(astuple, scores)
    )


def _by_agent(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> dict[str, dict[str, MeasuredAgent]]:
    agents: dict[str, dict[str, MeasuredAgent]] = {}
    for subject, every in agents_by_mode.items():
        for agent in every:
            agents.setdefault(agent.contestant, {})[subject] = agent
    return agents


def _pair_twins(
    every: Sequence[MeasuredAgent], key: str, first: str, second: str
) -> list[tuple[MeasuredAgent, MeasuredAgent]]:
    """Return pairs of contestants that differ in exactly one setting."""
    measured = [agent for agent in every if agent.cases]
    return [
        (agent, twin)
        for agent in measured
        for twin in measured
        if agent.settings.get(key) == first
        and dict(agent.settings) == {**twin.settings, key: first}
        and twin.settings.get(key) == second
    ]


def _gain_row(what: str, name: str, gain: float) -> tuple[str, ...]:
    published = PUBLISHED_GAINS.get(what)
    return (what, name, f"{gain:+.1f}", DASH if published is None else f"{published:+.1f}")


def _mean_prompt_tokens(agent: MeasuredAgent) -> float:
    return mean(case.result.get("prompt_tokens", 0) for case in agent.cases) if agent.cases else 0.0


def _correlate(first: Sequence[float], second: Sequence[float]) -> float | None:
    try:
        return correlation(first, second) if len(first) > 2 else None
    except StatisticsError:
        # All values are equal.
        return None


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}" if total else DASH
