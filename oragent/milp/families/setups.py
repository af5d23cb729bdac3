"""Single-machine scheduling with setups between jobs, for the least weighted tardiness."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

JOBS = "red blue green white black amber violet grey job"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` jobs; four take a tenth of a second, seven may take half a minute."""
    rng = stream(seed, size)
    jobs = names(JOBS, size)
    duration = {job: int(rng.integers(2, 12)) for job in jobs}
    setup = {first: {job: int(rng.integers(1, 7)) for job in jobs if job != first} for first in ["start", *jobs]}
    total = sum(duration.values())
    due = {job: int(rng.integers(duration[job], total + 1)) for job in jobs}
    weight = {job: int(rng.integers(1, 6)) for job in jobs}
    text = f"""
        One printing press does {listed(jobs)}, one after the other, beginning at hour 0. A job takes
        {listed([f"{duration[j]} hours for {j}" for j in jobs])}. Before each job the press is set up, for as many hours
        as the table `setup` gives, by the job before (`start` for the first) and the job itself. Jobs are due at
        {listed([f"hour {due[j]} for {j}" for j in jobs])}. Each hour that a job ends late costs
        {listed([f"{weight[j]} EUR for {j}" for j in jobs])}; what is early gains nothing. What is the least total
        cost?"""
    milp = _model(jobs, duration, setup, due, weight)
    data = {"duration": duration, "setup": setup, "due": due, "weight": weight}
    return proven("setups", seed, size, text, data, milp)


def _model(
    jobs: list[str],
    duration: dict[str, int],
    setup: dict[str, dict[str, int]],
    due: dict[str, int],
    weight: dict[str, int],
) -> Milp:
    """Which job follows which, ends that follow from it (Miller, Tucker & Zemlin 1960), and lateness."""
    takes = {(first, job): setup[first][job] + duration[job] for first in setup for job in setup[first]}
    slowest = {job: max(takes[first, job] for first in setup if first != job) for job in jobs}
    quickest = {job: min(takes[first, job] for first in setup if first != job) for job in jobs}
    horizon = sum(slowest.values())
    arcs = {(first, job): f"{first} before {job}" for first, job in takes}
    variables = [Variable(arc, 0, 1, VariableKind.INTEGER) for arc in arcs.values()]
    variables += [Variable(f"end of {job}", quickest[job], horizon, unit="hours") for job in jobs]
    variables += [Variable(f"late {job}", unit="hours") for job in jobs]
    rows = [Row("one first", {arcs["start", job]: 1 for job in jobs}, Relation.EQUAL, 1)]
    for job in jobs:
        rows.append(Row(f"{job} once", {arc: 1 for (_, to), arc in arcs.items() if to == job}, Relation.EQUAL, 1))
        rows.append(Row(f"one at most after {job}", {arcs[job, to]: 1 for to in setup[job]}, Relation.AT_MOST, 1))
        rows.append(Row(f"late {job}", {f"late {job}": 1, f"end of {job}": -1}, Relation.AT_LEAST, -due[job]))
    for (first, job), arc in arcs.items():
        before = {f"end of {first}": -1.0} if first != "start" else {}
        slack = horizon - quickest[job] if first != "start" else 0  # what the ends may differ by if it is not so
        terms = {f"end of {job}": 1.0, arc: -float(takes[first, job] + slack)} | before
        rows.append(Row(f"time of {arc}", terms, Relation.AT_LEAST, -slack))
    costs = {f"late {job}": weight[job] for job in jobs}
    return Milp(tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "scheduling with setups")
