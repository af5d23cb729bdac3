"""Source of a program that solves a schedule by OR-Tools' CP-SAT."""

from pprint import pformat

from oragent.modelling.scheduling.schedule_model import WEIGHT_SCALE, ScheduleGoal, SchedulingModel

HEAD = """from ortools.sat.python import cp_model

# name: duration, release, deadline, due date, weight
INTERVALS = {intervals}
MACHINES = {machines}
# name: capacity, demands
RESOURCES = {resources}
# before, after, delay
PRECEDENCES = {precedences}
HORIZON = {horizon}

model = cp_model.CpModel()
starts, ends, spans = {{}}, {{}}, {{}}
for name, (duration, release, deadline, due, weight) in INTERVALS.items():
    latest = HORIZON if deadline is None else min(deadline, HORIZON)
    starts[name] = model.new_int_var(release, max(release, latest - duration), name)
    ends[name] = starts[name] + duration
    model.add(ends[name] <= latest)
    spans[name] = model.new_fixed_size_interval_var(starts[name], duration, name)
for before, after, delay in PRECEDENCES:
    model.add(starts[after] >= ends[before] + delay)
for names in MACHINES.values():
    model.add_no_overlap([spans[name] for name in names if INTERVALS[name][0]])
for capacity, demands in RESOURCES.values():
    model.add_cumulative([spans[name] for name in demands], list(demands.values()), capacity)
"""
MAKESPAN = """last = model.new_int_var(0, HORIZON, "makespan")
model.add_max_equality(last, list(ends.values()))
model.minimize(last)
"""
TARDINESS = """late = []
for name, (duration, release, deadline, due, weight) in INTERVALS.items():
    if due is not None and weight:
        amount = model.new_int_var(0, HORIZON, f"late {name}")
        model.add(amount >= ends[name] - due)
        late.append(round(weight * SCALE) * amount)
model.minimize(sum(late))
"""
END = """solver = cp_model.CpSolver()
status = solver.solve(model)
print(solver.status_name(status), solver.objective_value / SCALE)
if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
    for name in INTERVALS:
        print(name, solver.value(starts[name]))
"""


def schedule_source(schedule: SchedulingModel) -> str:
    """Return a program that builds the schedule with CP-SAT, solves it, and prints the objective and the starts."""
    intervals = {i.name: (i.duration, i.release, i.deadline, i.due, i.weight) for i in schedule.intervals}
    parts = {
        "intervals": intervals,
        "machines": {machine.name: machine.intervals for machine in schedule.machines},
        "resources": {resource.name: (resource.capacity, dict(resource.demands)) for resource in schedule.resources},
        "precedences": [(pair.before, pair.after, pair.delay) for pair in schedule.precedences],
        "horizon": schedule.horizon,
    }
    shown = {name: pformat(part, sort_dicts=False) for name, part in parts.items()}
    is_makespan = schedule.goal is ScheduleGoal.MAKESPAN
    scale = f"SCALE = {1 if is_makespan else WEIGHT_SCALE}\n"
    return HEAD.format(**shown) + scale + (MAKESPAN if is_makespan else TARDINESS) + END
