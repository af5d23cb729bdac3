"""A workshop whose solves stop far from a proof: no comparison contradicts the truth by a search over all orders."""

import itertools
import math

import pytest

from oragent.converse.models.workbench import Workbench
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.results import Figure
from oragent.modelling.references.answer_references import fill_reference
from tests.modelling.indexed_models import Sketch

JOBS = [f"j{number}" for number in range(1, 9)]
RELEASE = dict(zip(JOBS, (0.0, 1.0, 2.0, 1.0, 4.0, 2.0, 5.0, 3.0), strict=True))
TIME = dict(zip(JOBS, (6.0, 4.0, 9.0, 3.0, 5.0, 7.0, 2.0, 8.0), strict=True))
WEIGHT = dict(zip(JOBS, (2.0, 5.0, 1.0, 4.0, 3.0, 2.0, 6.0, 3.0), strict=True))
# Latest starts without a delay.
DUE = dict(zip(JOBS, (12.0, 9.0, 20.0, 6.0, 15.0, 8.0, 18.0, 10.0), strict=True))
LONGEST = 150.0
# Solvers accept points that break a row by 1e-6; weights multiply that.
ROOM = 1e-4
# Relative gap at which a solve may stop, and the least gap of the base model.
ALLOWED, GAP = 0.3, 0.12


def workshop():
    """One machine, jobs with release times, least weighted delays; pairs of jobs by large constants."""
    sketch = Sketch("workshop")
    builder = sketch.builder
    builder.add_set("job", JOBS)
    for name, values in (("release", RELEASE), ("weight", WEIGHT), ("due", DUE)):
        builder.add_parameter(name, ["job"], {(job,): value for job, value in values.items()})
    pairs = [(one, other) for one, other in itertools.permutations(JOBS, 2)]
    sketch.variables("start", ["job"], high=LONGEST)
    builder.add_set("after", JOBS)
    sketch.variables("delay", ["job"])
    sketch.variables("first", ["job", "after"], keys=pairs, high=1, kind="integer")
    sketch.rows("ready", ["job"], ">=", [{("start", (job,)): 1.0} for job in JOBS], builder.cells("release"))
    on_time = [{("start", (job,)): 1.0, ("delay", (job,)): -1.0} for job in JOBS]
    sketch.rows("on_time", ["job"], "<=", on_time, builder.cells("due"))
    sooner = [{("first", pair): 1.0, ("first", pair[::-1]): 1.0} for pair in itertools.combinations(JOBS, 2)]
    builder.add_set("pair", ["+".join(pair) for pair in itertools.combinations(JOBS, 2)])
    sketch.rows("order", ["pair"], "=", sooner, 1.0)
    builder.add_set("turn", ["+".join(pair) for pair in pairs])
    apart = [
        {("start", (after,)): 1.0, ("start", (one,)): -1.0, ("first", (one, after)): -LONGEST} for one, after in pairs
    ]
    sketch.rows("apart", ["turn"], ">=", apart, [TIME[one] - LONGEST for one, _ in pairs])
    columns = [sketch.column["delay", (job,)] for job in JOBS]
    builder.set_objective("delays", "minimize", columns, builder.cells("weight"))
    return builder.build()


def best(release=RELEASE, weight=WEIGHT, due=DUE, before=(), latest=None) -> float | None:
    """The least weighted sum of delays over all orders; ``before`` are pairs of jobs that must be in that order."""
    found = [math.inf]

    def extend(placed: tuple[str, ...], clock: float, cost: float) -> None:
        rest = [job for job in JOBS if job not in placed]
        if not rest:
            found[0] = min(found[0], cost)
        for job in rest:
            start = max(clock, release[job])
            is_late = start > (latest or {}).get(job, math.inf)
            is_early = any(other == job and one not in placed for one, other in before)
            least = sum(weight[other] * max(0.0, start - due[other], release[other] - due[other]) for other in rest)
            if not is_late and not is_early and cost + least < found[0]:
                extend((*placed, job), start + TIME[job], cost + weight[job] * max(0.0, start - due[job]))

    extend((), 0.0, 0.0)
    return found[0] if found[0] < math.inf else None


CASES = {
    "whatif release[j3] += 10": lambda: best(release=RELEASE | {"j3": 12.0}),
    "whatif due[j8] = 20": lambda: best(due=DUE | {"j8": 20.0}),
    "whatif weight *= 2": lambda: best(weight={job: 2 * value for job, value in WEIGHT.items()}),
    "whatif weight[j1] = 9": lambda: best(weight=WEIGHT | {"j1": 9.0}),
    "whatif first[j3, j2] = 1": lambda: best(before=[("j3", "j2")]),
    "whatif start[j6] <= 10": lambda: best(latest={"j6": 10.0}),
    "whatif forbid first[j1, j4]": lambda: best(before=[("j4", "j1")]),
}


def contains(figure: Figure, value: float) -> bool:
    return (figure.low is None or figure.low <= value + ROOM) and (figure.high is None or value <= figure.high + ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 50])
def test_no_comparison_contradicts_the_truth(nodes: int) -> None:
    bench = Workbench(workshop(), SolveLimits(gap=ALLOWED, nodes=nodes))
    solved, base = bench.ask("solve"), best()
    assert solved.gap is not None
    assert solved.gap >= GAP
    assert contains(solved.objective, base)
    open_gaps = 0
    for line, truth in CASES.items():
        result, after = bench.ask(line), truth()
        difference = after - base
        objective = result.objective
        assert contains(objective.before, base), line
        assert contains(objective.after, after), line
        assert contains(objective.difference, difference), line
        open_gaps += objective.difference.low != objective.difference.high
        better = fill_reference(f"{result.id}.better", bench.results, bench.model).text
        unchanged = fill_reference(f"{result.id}.unchanged", bench.results, bench.model).text
        assert difference <= ROOM or better != "better", line
        assert difference >= -ROOM or better != "worse", line
        assert abs(difference) > ROOM or unchanged != "changed", line
        assert abs(difference) <= ROOM or unchanged != "unchanged", line
        text = fill_reference(f"{result.id}.objective - {solved.id}.objective", bench.results, bench.model).text
        assert (
            ("between" in text) or ("least" in text) or ("most" in text) or objective.after.low == objective.after.high
        )
    assert open_gaps >= 3
    bench.ask("whatif start[j6] <= 10")
    bench.ask("keep tight")
    compared = bench.ask("compare base tight")
    assert contains(compared.objective.difference, CASES["whatif start[j6] <= 10"]() - base)
