"""Compare the modes of a benchmark: gains by shown files, correlations, points by tokens, as published.

Zhou et al. 2026 report execution and feasibility rates, file system against flat, revise-all and -model less -code,
correlations of tasks, the range over solver tracks, and points for prompt tokens with their Pareto front.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import StatisticsError, correlation, mean

from oragent.evals.bench.tables import TextTable
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.published import (
    CORRELATIONS,
    FLAT,
    HIGHS,
    MAIN,
    REVISE_FAILURES,
    SNAPSHOT,
    SOLVERS,
    Scores,
)
from oragent.evals.workspace.tables import MeasuredAgent
from oragent.workspace.layout import Mode

DASH = "–"
NOT_EXECUTED = frozenset(
    (AttemptOutcome.NO_ATTEMPT, AttemptOutcome.TIMEOUT, AttemptOutcome.MEMORY, AttemptOutcome.RUNTIME_ERROR)
)
NOT_FEASIBLE = NOT_EXECUTED | {
    AttemptOutcome.NO_MODEL,
    AttemptOutcome.NO_OBJECTIVE,
    AttemptOutcome.INFEASIBLE,
    AttemptOutcome.UNBOUNDED,
}
PUBLISHED_GAINS = {  # of Zhou et al. 2026, means over the models in question
    "revise-all − revise-code": mean(
        scores.revise_all - scores.revise_code for scores in MAIN if scores.revise_all is not None
    ),
    "revise-model − revise-code": mean(
        scores.revise_model - scores.revise_code for scores in MAIN if scores.revise_model is not None
    ),
    "revise-code − build": mean(scores.revise_code - scores.build for scores in MAIN),
    "build, filesystem − flat": mean(scores.build[0] - scores.build[1] for scores in FLAT),
    "revise-code, filesystem − flat": mean(scores.revise_code[0] - scores.revise_code[1] for scores in FLAT),
    "explain, filesystem − flat": mean(scores.explain[0] - scores.explain[1] for scores in FLAT),
}


def rate_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Share of programs that ran to their end, and of those whose model has a point, by mode; None without programs."""
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
    """Differences of points between modes, interfaces and tracks, and correlations of modes over agents."""
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
            rows.append((f"correlation of {pair[0]} and {pair[1]}", f"{len(shared)} agents", f"{r:.2f}",
                         DASH if published is None else f"{published:.2f}"))  # fmt: skip
    return TextTable(("what", "agent", "ours", "published"), tuple(rows)) if rows else None


def track_table(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Points on each solver track, means over agents, and how far its modes lie apart; None for a single mode."""
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
    """Points for prompt tokens: of each mode, and of revision over building; None where nobody is asked."""
    rows = []
    for subject, every in agents_by_mode.items():
        measured = [
            (agent.contestant, mean(agent.points), _mean_prompt_tokens(agent))
            for agent in every
            if agent.cases and _mean_prompt_tokens(agent)
        ]
        for name, points, tokens in measured:
            best = not any(p >= points and t <= tokens and (p, t) != (points, tokens) for _, p, t in measured)
            rows.append(
                (
                    subject,
                    name,
                    f"{points:.1f}",
                    f"{tokens:.0f}",
                    f"{1000 * points / tokens:.2f}",
                    "yes" if best else "no",
                    DASH,
                )
            )
    for name, by_mode in _by_agent(agents_by_mode).items():
        build, revise = by_mode.get("build"), by_mode.get("revise-code")
        if build is None or revise is None or not (build.cases and revise.cases):
            continue
        more = _mean_prompt_tokens(revise) - _mean_prompt_tokens(build)
        if more > 0:
            gain = mean(revise.points) - mean(build.points)
            rows.append(("revise-code − build", name, f"{gain:+.1f}", f"{more:.0f}", DASH, DASH,
                         f"{1000 * gain / more:+.2f}"))  # fmt: skip
    heads = ("mode", "agent", "points", "prompt tokens", "points per 1,000 tokens", "on the front",
             "points per 1,000 more")  # fmt: skip
    return TextTable(heads, tuple(rows)) if rows else None


def published_tables() -> list[tuple[str, TextTable]]:
    """All that was published, for the page."""
    heads = ("model", "build", "revise-code", "revise-all", "revise-model", "explain")
    solvers = tuple(
        (
            scores.solver,
            *(
                f"{value:g}"
                for value in (
                    scores.build,
                    scores.revise_model,
                    scores.revise_code,
                    scores.revise_all,
                    scores.explain,
                    scores.range,
                )
            ),
        )
        for scores in SOLVERS
    )
    flat = tuple(
        (
            scores.model,
            *(f"{first:g} / {second:g}" for first, second in (scores.build, scores.revise_code, scores.explain)),
        )
        for scores in FLAT
    )
    return [
        ("Models, Gurobi", TextTable(heads, tuple(map(_published_row, MAIN)))),
        ("Models, HiGHS: the track nearest to ours", TextTable(heads, tuple(map(_published_row, HIGHS)))),
        ("A later state of the release, withdrawn since", TextTable(heads, tuple(map(_published_row, SNAPSHOT)))),
        (
            "Means by solver",
            TextTable(("solver", "build", "revise-model", "revise-code", "revise-all", "explain", "range"), solvers),
        ),
        ("File system / flat", TextTable(("model", "build", "revise-code", "explain"), flat)),
        (
            "Failures of revise, % of 2,000 trials",
            TextTable(("kind", "%"), tuple((kind, f"{share:g}") for kind, share in REVISE_FAILURES.items())),
        ),
    ]


def _by_agent(agents_by_mode: Mapping[str, Sequence[MeasuredAgent]]) -> dict[str, dict[str, MeasuredAgent]]:
    agents: dict[str, dict[str, MeasuredAgent]] = {}
    for subject, every in agents_by_mode.items():
        for agent in every:
            agents.setdefault(agent.contestant, {})[subject] = agent
    return agents


def _pair_twins(
    every: Sequence[MeasuredAgent], key: str, first: str, second: str
) -> list[tuple[MeasuredAgent, MeasuredAgent]]:
    """Pairs of contestants that differ in one setting alone."""
    measured = [agent for agent in every if agent.cases]
    return [
        (agent, twin) for agent in measured for twin in measured
        if agent.settings.get(key) == first and dict(agent.settings) == {**twin.settings, key: first}
        and twin.settings.get(key) == second
    ]  # fmt: skip


def _gain_row(what: str, name: str, gain: float) -> tuple[str, ...]:
    published = PUBLISHED_GAINS.get(what)
    return (what, name, f"{gain:+.1f}", DASH if published is None else f"{published:+.1f}")


def _mean_prompt_tokens(agent: MeasuredAgent) -> float:
    return mean(case.result.get("prompt_tokens", 0) for case in agent.cases) if agent.cases else 0.0


def _correlate(first: Sequence[float], second: Sequence[float]) -> float | None:
    try:
        return correlation(first, second) if len(first) > 2 else None
    except StatisticsError:  # all the same
        return None


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}" if total else DASH


def _published_row(scores: Scores) -> tuple[str, ...]:
    values = (scores.build, scores.revise_code, scores.revise_all, scores.revise_model, scores.explain)
    return (scores.model, *(DASH if value is None else f"{value:g}" for value in values))
