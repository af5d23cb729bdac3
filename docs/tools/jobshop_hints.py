"""Measure hints for CP-SAT on job shops: ``jobshop_hints.py [--first N] [--last N] [--work W]``.

Instances are ta01 to ta40 of Taillard (1993), made by his generator. CP-SAT runs with one worker and a limit on deterministic
time: once without a hint, and once for each dispatching rule, whose schedule (Giffler and Thompson 1960) is the hint. It needs
OR-Tools (``pip install ortools``).
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from time import process_time

from oragent._base.direction import Direction
from oragent._base.statistics import compare_paired, relative_gain

# Jobs, machines, and for each instance the seeds of durations and machines, and Taillard's lower bound.
SIZES: tuple[tuple[int, int, tuple[tuple[int, int, int], ...]], ...] = (
    (
        15,
        15,
        (
            (840612802, 398197754, 977),
            (1314640371, 386720536, 942),
            (1227221349, 316176388, 921),
            (342269428, 1806358582, 911),
            (1603221416, 1501949241, 940),
            (1357584978, 1734077082, 889),
            (44531661, 1374316395, 935),
            (302545136, 2092186050, 963),
            (1153780144, 1393392374, 982),
            (73896786, 1544979948, 911),
        ),
    ),
    (
        20,
        15,
        (
            (533484900, 317419073, 1139),
            (1894307698, 1474268163, 1251),
            (874340513, 509669280, 1178),
            (1124986343, 1209573668, 1130),
            (1463788335, 529048107, 1148),
            (1056908795, 25321885, 1181),
            (195672285, 1717580117, 1257),
            (961965583, 1353003786, 1153),
            (1610169733, 1734469503, 1202),
            (532794656, 998486810, 1186),
        ),
    ),
    (
        20,
        20,
        (
            (1035939303, 773961798, 1217),
            (5997802, 1872541150, 1240),
            (1357503601, 722225039, 1185),
            (806159563, 1166962073, 1271),
            (1902815253, 1879990068, 1256),
            (1503184031, 1850351876, 1207),
            (1032645967, 99711329, 1331),
            (229894219, 1158117804, 1269),
            (823349822, 108033225, 1267),
            (1297900341, 489486403, 1212),
        ),
    ),
    (
        30,
        15,
        (
            (98640593, 1981283465, 1764),
            (1839268120, 248890888, 1774),
            (573875290, 2081512253, 1729),
            (1670898570, 788294565, 1828),
            (1118914567, 1074349202, 1729),
            (178750207, 294279708, 1777),
            (1549372605, 596993084, 1771),
            (798174738, 151685779, 1673),
            (553410952, 1329272528, 1641),
            (1661531649, 1173386294, 1602),
        ),
    ),
)
NO_HINT = "none"


@dataclass(frozen=True)
class JobShop:
    """Jobs whose operations need one machine each, in a fixed order."""

    name: str
    # For each job its operations in order: machine from 0, and duration.
    jobs: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def lower_bound(self) -> int:
        """Largest total duration of a job or a machine."""
        loads: dict[int, int] = {}
        for machine, duration in (operation for job in self.jobs for operation in job):
            loads[machine] = loads.get(machine, 0) + duration
        return max(*loads.values(), *(sum(duration for _, duration in job) for job in self.jobs))

    def measure(self, starts: list[list[int]]) -> int:
        """Return the end of the last operation."""
        return max(row[-1] + job[-1][1] for row, job in zip(starts, self.jobs, strict=True))


class Uniform:
    """Taillard's random numbers: the generator of Bratley, Fox and Schrage (1983)."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def draw(self, low: int, high: int) -> int:
        """Return a whole number between two others, both included."""
        self._state = 16807 * self._state % (2**31 - 1)
        return low + int(self._state / (2**31 - 1) * (high - low + 1))


def make_instance(name: str, jobs: int, machines: int, duration_seed: int, machine_seed: int) -> JobShop:
    """Make an instance as Taillard describes: durations from 1 to 99, and each job's machines in random order."""
    durations, order = Uniform(duration_seed), Uniform(machine_seed)
    times = [[durations.draw(1, 99) for _ in range(machines)] for _ in range(jobs)]
    drawn = []
    for row in times:
        route = list(range(machines))
        for place in range(machines):
            other = order.draw(place, machines - 1)
            route[place], route[other] = route[other], route[place]
        drawn.append(tuple(zip(route, row, strict=True)))
    return JobShop(name, tuple(drawn))


def list_instances() -> list[tuple[JobShop, int]]:
    """Make ta01 to ta40, each with the lower bound that Taillard printed."""
    made: list[tuple[JobShop, int]] = []
    for jobs, machines, rows in SIZES:
        for duration_seed, machine_seed, bound in rows:
            name = f"ta{len(made) + 1:02}"
            made.append((make_instance(name, jobs, machines, duration_seed, machine_seed), bound))
    return made


def rank_mwkr(done: int, remaining: int) -> float:
    """Most work remaining: the job with the most work that is not scheduled comes first."""
    return -remaining


def rank_fdd_mwkr(done: int, remaining: int) -> float:
    """Smallest ratio of flow due date to remaining work (Sels, Gheysen and Vanhoucke 2012)."""
    return done / remaining


# Values by which operations compete for a machine; the smallest wins. They see the job's work up to the operation's end, and
# from its start.
RULES: Mapping[str, Callable[[int, int], float]] = {"MWKR": rank_mwkr, "FDD/MWKR": rank_fdd_mwkr}


def build_schedule(shop: JobShop, rank: Callable[[int, int], float]) -> list[list[int]]:
    """Build an active schedule by the method of Giffler and Thompson; ties go to the first job.

    Returns:
        Start of each operation of each job.
    """
    starts: list[list[int]] = [[] for _ in shop.jobs]
    job_free, machine_free = [0] * len(shop.jobs), dict.fromkeys({m for job in shop.jobs for m, _ in job}, 0)
    work = [[sum(duration for _, duration in job[:place]) for place in range(len(job) + 1)] for job in shop.jobs]
    while unfinished := [number for number, job in enumerate(shop.jobs) if len(starts[number]) < len(job)]:
        ready = {}
        for number in unfinished:
            machine, duration = shop.jobs[number][len(starts[number])]
            start = max(job_free[number], machine_free[machine])
            ready[number] = (start + duration, start, machine)
        first_end, _, machine = min(ready.values(), key=lambda known: known[0])
        rivals = [number for number, (_, start, other) in ready.items() if other == machine and start < first_end]
        chosen = min(rivals, key=lambda number: _rank_next(work[number], len(starts[number]), rank))
        end, start, _ = ready[chosen]
        starts[chosen].append(start)
        job_free[chosen] = machine_free[machine] = end
    return starts


def _rank_next(work: list[int], place: int, rank: Callable[[int, int], float]) -> float:
    return rank(work[place + 1], work[-1] - work[place])


@dataclass(frozen=True)
class Outcome:
    """What CP-SAT found."""

    makespan: int
    starts: list[list[int]]
    seconds: float


def solve(shop: JobShop, hint: list[list[int]] | None, work: float, *, fix_hint: bool = False) -> Outcome:
    """Let CP-SAT minimise the makespan with one worker.

    Args:
        shop: Instance.
        hint: Start of each operation, or None.
        work: Limit on deterministic time.
        fix_hint: Whether all variables keep the values of the hint.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    horizon = sum(duration for job in shop.jobs for _, duration in job)
    makespan = model.new_int_var(0, horizon, "makespan")
    by_machine: dict[int, list[cp_model.IntervalVar]] = {}
    variables = [[model.new_int_var(0, horizon, "") for _ in job] for job in shop.jobs]
    for job, row in zip(shop.jobs, variables, strict=True):
        for place, ((machine, duration), start) in enumerate(zip(job, row, strict=True)):
            interval = model.new_fixed_size_interval_var(start, duration, "")
            by_machine.setdefault(machine, []).append(interval)
            model.add(start + duration <= (row[place + 1] if place + 1 < len(row) else makespan))
    for intervals in by_machine.values():
        model.add_no_overlap(intervals)
    model.minimize(makespan)
    if hint is not None:
        model.add_hint(makespan, shop.measure(hint))
        for row, times in zip(variables, hint, strict=True):
            for start, time in zip(row, times, strict=True):
                model.add_hint(start, time)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = work
    solver.parameters.fix_variables_to_their_hinted_value = fix_hint
    begun = process_time()
    status = solver.solve(model)
    seconds = process_time() - begun
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"{shop.name}: CP-SAT found no schedule within deterministic time {work}; give more --work")
    starts = [[solver.value(start) for start in row] for row in variables]
    return Outcome(shop.measure(starts), starts, seconds)


def print_comparison(results: Mapping[str, Mapping[str, Outcome]], schedules: Mapping[str, Mapping[str, int]]) -> None:
    """Print the gain of each rule's hint over no hint, paired by instance, as a table in Markdown."""
    print("\n| hint | schedule of the rule | gain | 99 % interval | p | better, worse | CPU time |")
    print("|---|---|---|---|---|---|---|")
    base = results[NO_HINT]
    for rule, outcomes in results.items():
        if rule == NO_HINT:
            continue
        pairs = [(outcomes[name], base[name]) for name in base]
        test = compare_paired(
            [100 * relative_gain(Direction.MINIMIZE, hinted.makespan, plain.makespan) for hinted, plain in pairs],
            level=0.01,
        )
        above = fmean(100 * (schedules[rule][name] / base[name].makespan - 1) for name in base)
        seconds = sum(hinted.seconds for hinted, _ in pairs) / sum(plain.seconds for _, plain in pairs)
        interval = "" if test.low is None else f"{test.low:+.2f} to {test.high:+.2f}"
        print(
            f"| {rule} | {above:+.1f} % | {test.mean:+.2f} % | {interval} | {test.p or 1:.2g} | {test.better}, {test.worse} | {seconds:.2f} |"
        )


def main() -> None:
    """Print the makespans of each instance, and the comparison over all of them and for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="number of the first instance")
    parser.add_argument("--last", type=int, default=40, help="number of the last instance")
    parser.add_argument("--work", type=float, default=0.3, help="deterministic time of each solve")
    options = parser.parse_args()
    shops = [shop for shop, _ in list_instances()][options.first - 1 : options.last]
    results: dict[str, dict[str, Outcome]] = {rule: {} for rule in (NO_HINT, *RULES)}
    schedules: dict[str, dict[str, int]] = {rule: {} for rule in RULES}
    for shop in shops:
        results[NO_HINT][shop.name] = solve(shop, None, options.work)
        line = f"{shop.name} {NO_HINT} {results[NO_HINT][shop.name].makespan}"
        for rule, rank in RULES.items():
            schedule = build_schedule(shop, rank)
            schedules[rule][shop.name] = shop.measure(schedule)
            results[rule][shop.name] = solve(shop, schedule, options.work)
            line += f", {rule} {schedules[rule][shop.name]} -> {results[rule][shop.name].makespan}"
        print(line, flush=True)
    print_comparison(results, schedules)
    sizes: dict[str, list[str]] = {f"{len(shop.jobs)} x {len(shop.jobs[0])}": [] for shop in shops}
    for shop in shops:
        sizes[f"{len(shop.jobs)} x {len(shop.jobs[0])}"].append(shop.name)
    for size, names in sizes.items() if len(sizes) > 1 else ():
        print(f"\n{size}:")
        chosen = {rule: {name: outcomes[name] for name in names} for rule, outcomes in results.items()}
        print_comparison(chosen, schedules)


if __name__ == "__main__":
    main()
