"""The assignment problem: one task a worker, at the least total time (Kuhn 1955)."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

WORKERS = "Ada Ben Cleo Dan Eva Finn Gus Hana Ivo Jana worker"
TASKS = "painting wiring plumbing tiling roofing glazing flooring sanding masonry carpentry task"


def generate(seed: int, size: int = 4) -> FamilyInstance:
    """``size`` workers and as many tasks."""
    rng = stream(seed, size)
    workers, tasks = names(WORKERS, size), names(TASKS, size)
    hours = {worker: {task: int(rng.integers(5, 60)) for task in tasks} for worker in workers}
    text = f"""
        The workers {listed(workers)} share the tasks {listed(tasks)}: each worker does exactly one task, and each task
        is done by one worker. The hours that a worker takes for a task are in the table `hours`, by worker and task.
        How many hours does the best assignment take in total?"""
    pairs = {(w, t): f"{w} does {t}" for w in workers for t in tasks}
    rows = [Row(f"one task for {w}", {pairs[w, t]: 1 for t in tasks}, Relation.EQUAL, 1) for w in workers]
    rows += [Row(f"one worker for {t}", {pairs[w, t]: 1 for w in workers}, Relation.EQUAL, 1) for t in tasks]
    milp = Milp(
        tuple(Variable(pair, 0, 1, VariableKind.INTEGER) for pair in pairs.values()),
        tuple(rows),
        Objective({pairs[w, t]: hours[w][t] for w, t in pairs}, unit="hours"),
        Sense.MINIMIZE,
        "assignment",
    )
    return proven("assignment", seed, size, text, {"hours": hours}, milp)
