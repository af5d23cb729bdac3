"""What a benchmark says of its modes together: gains by what is shown, correlations, what tokens buy, as published.

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
    "revise-all − revise-code": mean(one.revise_all - one.revise_code for one in MAIN if one.revise_all is not None),
    "revise-model − revise-code": mean(
        one.revise_model - one.revise_code for one in MAIN if one.revise_model is not None
    ),
    "revise-code − build": mean(one.revise_code - one.build for one in MAIN),
    "build, filesystem − flat": mean(one.build[0] - one.build[1] for one in FLAT),
    "revise-code, filesystem − flat": mean(one.revise_code[0] - one.revise_code[1] for one in FLAT),
    "explain, filesystem − flat": mean(one.explain[0] - one.explain[1] for one in FLAT),
}


def rate_table(found: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Share of programs that ran to their end, and of those whose model has a point, by mode; None without programs."""
    modes = [subject for subject in found if subject != Mode.EXPLAIN]
    if not modes:
        return None
    heads = tuple(f"{subject}: {what}" for subject in modes for what in ("executed %", "feasible %"))
    rows = []
    for name, by_mode in _by_agent(found).items():
        cells: list[str] = []
        for subject in modes:
            outcomes = [case.result["outcome"] for case in by_mode[subject].cases] if subject in by_mode else []
            cells += [
                _share(sum(one not in bad for one in outcomes), len(outcomes)) for bad in (NOT_EXECUTED, NOT_FEASIBLE)
            ]
        rows.append((name, *cells))
    return TextTable(("agent", *heads), tuple(rows))


def gain_table(found: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Differences of points between modes, interfaces and tracks, and correlations of modes over agents."""
    rows: list[tuple[str, ...]] = []
    points = {(subject, one.contestant): mean(one.points) for subject, every in found.items() for one in every
              if one.cases}  # fmt: skip
    agents = list(_by_agent(found))
    for first, second in (("revise-all", "revise-code"), ("revise-model", "revise-code"), ("revise-code", "build")):
        shared = [name for name in agents if (first, name) in points and (second, name) in points]
        rows += [_gain(f"{first} − {second}", name, points[first, name] - points[second, name]) for name in shared]
    for subject, every in found.items():
        for key, what in (("interface", "filesystem − flat"), ("track", "pulp-highs − highspy")):
            one_side, other_side = what.split(" − ")
            for one, other in _twins(every, key, one_side, other_side):
                rows.append(_gain(f"{subject}, {what}", one.contestant, mean(one.points) - mean(other.points)))
    for pair in combinations(found, 2):
        shared = [name for name in agents if all((subject, name) in points for subject in pair)]
        r = _correlation(*([points[subject, name] for name in shared] for subject in pair))
        published = CORRELATIONS.get((pair[0].split("-")[0], pair[1].split("-")[0]))
        if r is not None:
            rows.append((f"correlation of {pair[0]} and {pair[1]}", f"{len(shared)} agents", f"{r:.2f}",
                         DASH if published is None else f"{published:.2f}"))  # fmt: skip
    return TextTable(("what", "agent", "ours", "published"), tuple(rows)) if rows else None


def track_table(found: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Points on each solver track, means over agents, and how far its modes lie apart; None for a single mode."""
    if len(found) < 2:
        return None
    by_track: dict[str, dict[str, list[float]]] = {}
    for subject, every in found.items():
        for one in every:
            if one.cases and "track" in one.settings:
                by_track.setdefault(str(one.settings["track"]), {}).setdefault(subject, []).append(mean(one.points))
    rows = []
    for track, points in by_track.items():
        means = {subject: mean(every) for subject, every in points.items()}
        cells = (f"{means[subject]:.1f}" if subject in means else DASH for subject in found)
        apart = f"{max(means.values()) - min(means.values()):.1f}" if len(means) > 1 else DASH
        rows.append((track, *cells, apart))
    return TextTable(("track", *found, "range"), tuple(rows)) if rows else None


def token_table(found: Mapping[str, Sequence[MeasuredAgent]]) -> TextTable | None:
    """Points for prompt tokens: of each mode, and of revision over building; None where nobody is asked."""
    rows = []
    for subject, every in found.items():
        told = [(one.contestant, mean(one.points), _tokens(one)) for one in every if one.cases and _tokens(one)]
        for name, points, tokens in told:
            best = not any(p >= points and t <= tokens and (p, t) != (points, tokens) for _, p, t in told)
            rows.append((subject, name, f"{points:.1f}", f"{tokens:.0f}", f"{1000 * points / tokens:.2f}",
                         "yes" if best else "no", DASH))  # fmt: skip
    for name, by_mode in _by_agent(found).items():
        build, revise = by_mode.get("build"), by_mode.get("revise-code")
        if build is None or revise is None or not (build.cases and revise.cases):
            continue
        more = _tokens(revise) - _tokens(build)
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
        (one.solver, *(f"{value:g}" for value in (one.build, one.revise_model, one.revise_code, one.revise_all,
                                                  one.explain, one.range)))
        for one in SOLVERS
    )  # fmt: skip
    flat = tuple(
        (one.model, *(f"{first:g} / {second:g}" for first, second in (one.build, one.revise_code, one.explain)))
        for one in FLAT
    )
    return [
        ("Models, Gurobi", TextTable(heads, tuple(map(_published, MAIN)))),
        ("Models, HiGHS: the track nearest to ours", TextTable(heads, tuple(map(_published, HIGHS)))),
        ("A later state of the release, withdrawn since", TextTable(heads, tuple(map(_published, SNAPSHOT)))),
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


def _by_agent(found: Mapping[str, Sequence[MeasuredAgent]]) -> dict[str, dict[str, MeasuredAgent]]:
    agents: dict[str, dict[str, MeasuredAgent]] = {}
    for subject, every in found.items():
        for one in every:
            agents.setdefault(one.contestant, {})[subject] = one
    return agents


def _twins(
    every: Sequence[MeasuredAgent], key: str, first: str, second: str
) -> list[tuple[MeasuredAgent, MeasuredAgent]]:
    """Pairs of contestants that differ in one setting alone."""
    done = [one for one in every if one.cases]
    return [
        (one, other) for one in done for other in done
        if one.settings.get(key) == first and dict(one.settings) == {**other.settings, key: first}
        and other.settings.get(key) == second
    ]  # fmt: skip


def _gain(what: str, name: str, gain: float) -> tuple[str, ...]:
    published = PUBLISHED_GAINS.get(what)
    return (what, name, f"{gain:+.1f}", DASH if published is None else f"{published:+.1f}")


def _tokens(one: MeasuredAgent) -> float:
    return mean(case.result.get("prompt_tokens", 0) for case in one.cases) if one.cases else 0.0


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    try:
        return correlation(first, second) if len(first) > 2 else None
    except StatisticsError:  # all the same
        return None


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}" if total else DASH


def _published(one: Scores) -> tuple[str, ...]:
    values = (one.build, one.revise_code, one.revise_all, one.revise_model, one.explain)
    return (one.model, *(DASH if value is None else f"{value:g}" for value in values))
