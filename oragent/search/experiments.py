"""Experiments, which cost no evaluation: a probe runs one program, a sweep varies its parameters.

Both run a program in the sandbox with the limits of an evaluation, until a number of CPU seconds is used. The instances
are ``train``, or ``practice``, which has the distribution of ``val`` but another seed. Each run is done by an
`InstanceRunner`, so that a search can store every result before it is used.
"""

import itertools
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.protocol import FIRST_S, Status
from oragent._base.racing import Values, read_instance_values
from oragent._base.statistics import sign_flip_interval
from oragent.evaluation import Evaluation, capabilities
from oragent.programs.kept_arrays import contract_references, expand_references
from oragent.programs.number_arguments import pass_numbers
from oragent.programs.parameters import ProgramParameter, read_parameters, read_value, write_values

if TYPE_CHECKING:
    from cmaes import CMA

Vector = NDArray[np.float64]
TRAIN, PRACTICE, VAL = "train", capabilities.PRACTICE, "val"
# Default CPU seconds of a probe or sweep.
CPU_S = 60.0
# A further run begins only if this many CPU seconds remain.
MIN_S = 0.5
# A run that used at least this share of its limit counts as ended by the limit.
NEARLY = 0.9
USED_UP = "not measured: the CPU seconds of the sweep were used"
# Number of settings of a grid that run in parallel. It is fixed, so that results do not depend on the number of
# workers.
AT_ONCE = 4
# Maximum number of settings of a sweep, and default number of settings of CMA-ES.
MAX_SETTINGS, EVOLVED_SETTINGS = 200, 24
# Number of values that are tried if a single parameter has a range.
LINE_POINTS = 7
# First step size of CMA-ES, as a share of the range.
SPREAD = 0.2
# The last comparison of a halving uses at most this multiple of the instances that were asked for.
MAX_MORE_INSTANCES = 4
# Runs per setting of a comparison whose settings may run again with another amount of work, on average.
REFITTED_RUNS = 1.5
NAME, NUMBER = r"[A-Za-z_]\w*", r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUES = re.compile(rf"(?P<name>{NAME})=(?P<values>{NUMBER}(?:,{NUMBER})*)")
_RANGE = re.compile(rf"(?P<name>{NAME})=(?P<low>{NUMBER})\.\.(?P<high>{NUMBER})(?P<flags>(?:,(?:int|float|log))*)")
_INSTANCES = re.compile(r"\d{1,6}(?::\d{1,6})?")
# Metric of the harness: CPU seconds of the function at each size.
PLACES = "places_seconds"
# Metric of the harness: CPU seconds of imports and compilation, which do not count as time of the function.
START = "start_seconds"
# Metrics with the number of instances at each size, and with the seconds of the first call that no limit counts.
COUNTS, UNCOUNTED = "places_instances", "uncounted_seconds"
# Metric with the CPU seconds of the run of an experiment; a replay uses the recorded value.
SECONDS = "experiment_cpu_seconds"
# Metric of the harness: number of instances that were done.
DONE = "instances_done"


@dataclass(frozen=True)
class Subset:
    """Part of the training or practice set. ``instances`` must be a number or a range, else ConfigError is raised."""

    # Problem sizes; empty means all of the set.
    sizes: tuple[int, ...] = ()
    # ``N`` for the first N instances of each size, ``A:B`` for A to B-1; empty means all.
    instances: str = ""
    # ``train`` or ``practice``, or ``val`` for references. All sizes of ``practice`` and ``val`` run in one process.
    mode: str = TRAIN
    # Seed of the practice instances; other seeds give other instances.
    seed: int = 0

    def __post_init__(self) -> None:
        low, _, high = self.instances.rpartition(":")
        if self.instances and (not _INSTANCES.fullmatch(self.instances) or int(low or 0) >= int(high)):
            raise ConfigError(f"instances must be a number N or a range A:B with A below B, not {self.instances!r}")

    @classmethod
    def choose(cls, sizes: Sequence[int] | None, instances: int | str | None, practice: bool) -> "Subset":
        """Return the subset that a user names; None or empty means everything."""
        return cls(tuple(sizes or ()), "" if instances is None else str(instances), PRACTICE if practice else TRAIN)

    @property
    def count(self) -> int | None:
        """Number of instances of each size; None means all of the set."""
        if not self.instances:
            return None
        low, _, high = self.instances.rpartition(":")
        return int(high) - int(low or 0)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of the evaluator that select the instances."""
        named = (f"{capabilities.INSTANCES}={self.instances}",) if self.instances else ()
        return (*named, f"{capabilities.FRESH_SEED}={self.seed}") if self.seed else named

    def check(self, sizes: Mapping[str, Sequence[int]]) -> "Subset":
        """Return the subset with all sizes of ``train`` filled in; raise ConfigError for an unknown size."""
        available = sizes.get("val" if self.mode == PRACTICE else self.mode, ())
        for size in self.sizes:
            if size not in available:
                offered = ", ".join(map(str, available)) or "none"
                raise ConfigError(f"{self.mode} has no size {size}; expected one of {offered}")
        if self.sizes or self.mode in (PRACTICE, VAL):
            return self
        return replace(self, sizes=tuple(available))


# Function that runs a program on the instances of one size (None: all sizes), with a limit in CPU seconds and the text
# of an observer, which may be empty.
InstanceRunner = Callable[[str, int | None, Subset, float, str], Awaitable[Evaluation]]


@dataclass(frozen=True)
class SizeResult:
    """Result of a program on the instances of one size."""

    # Problem size; None if the problem names no sizes.
    size: int | None
    # Status of the run; ``ok`` if and only if there is a score.
    status: Status
    # Mean over the instances, in natural units.
    score: float | None
    # Number of instances; None if the evaluator does not count them.
    instances: int | None
    # Number of calls of the heuristic; None if unknown.
    calls: int | None
    # CPU seconds of these calls.
    seconds: float | None
    # CPU seconds of the whole run.
    cpu_s: float
    # Reason of a failure, one line.
    message: str = ""
    # Metrics of the evaluator.
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeResult:
    """Result of a probe."""

    # Results in the order of the request, as far as the CPU seconds sufficed.
    sizes: tuple[SizeResult, ...]
    # Output of the program and of its observer.
    output: str
    # CPU seconds of all runs.
    cpu_s: float
    # Number of skipped sizes.
    skipped: int = 0

    @property
    def score(self) -> float | None:
        """Mean of the scores over sizes; None if one failed or was skipped."""
        scores = [result.score for result in self.sizes if result.score is not None]
        if scores and len(scores) == len(self.sizes) and not self.skipped:
            return mean(scores)
        return None

    @property
    def problem(self) -> str:
        """Reason of the first failure; empty without one."""
        return next((f"{result.status}: {result.message}" for result in self.sizes if result.score is None), "")


@dataclass(frozen=True)
class SweepAxis:
    """Parameter of a sweep: values to try, or a range to search."""

    # Name of a constant or default of the program.
    name: str
    # Value in the program.
    present: float
    # Values of a grid; empty if the range is searched.
    values: tuple[float, ...] = ()
    # Range; None if ``values`` are named.
    parameter: ProgramParameter | None = None


@dataclass(frozen=True)
class PairedDifference:
    """Difference of a setting to the present one, over the instances that both ran on."""

    # Mean over sizes of the mean over instances, in natural units.
    mean: float
    # Interval at 95 %; None for too few instances.
    interval: tuple[float, float] | None
    # Number of instances.
    instances: int

    def __str__(self) -> str:
        """Describe the difference and its interval, such as ``-0.27 (-0.61 to -0.01)``."""
        ends = "" if self.interval is None else f" ({self.interval[0]:+.3g} to {self.interval[1]:+.3g})"
        return f"{self.mean:+.4g}{ends}"

    def is_better(self, direction: Direction) -> bool:
        """Return True if the interval shows that the setting is better than the present one."""
        return self.interval is not None and min(direction.sign * end for end in self.interval) > 0


@dataclass(frozen=True)
class TimeDetails:
    """Further figures of the time of a run, from its evaluator; empty if it reports none."""

    # Number of instances at each size, by the name of the size.
    counts: Mapping[str, int] = field(default_factory=dict)
    # CPU seconds of the first call that no limit counts.
    uncounted_s: float = 0.0
    # CPU seconds of imports and compilation.
    start_s: float = 0.0


@dataclass(frozen=True)
class SweepRow:
    """Result of one setting of a sweep."""

    # Values of the parameters by name; if the sweep set the amount of work, its value too.
    values: Mapping[str, float]
    # Mean of the scores over sizes; None for a failure.
    score: float | None
    # CPU seconds of the heuristic's calls.
    seconds: float | None
    # CPU seconds of the runs.
    cpu_s: float
    # Reason of a failure, one line.
    message: str = ""
    # Number of instances of its last comparison; None if the evaluator does not count them.
    instances: int | None = None
    # CPU seconds at each size, by the name of the size.
    places: Mapping[str, float] = field(default_factory=dict)
    # Further figures of its time, if all sizes ran together.
    details: TimeDetails = field(default_factory=TimeDetails)
    # Whether it exceeded its own CPU seconds or those of the sweep.
    is_out_of_time: bool = False
    # Value of each instance by size; empty if the evaluator does not report them.
    by_instance: Values = field(default_factory=dict)
    # Number of its last comparison; each comparison has other instances than those before it.
    comparison: int = 0
    # Difference to the present setting; None for that setting, or without values of instances.
    difference: PairedDifference | None = None


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep."""

    # Settings in the order of their runs; the present values come first.
    rows: tuple[SweepRow, ...]
    # Direction of the score.
    direction: Direction
    # Text of the program.
    source: str
    # CPU seconds of all runs.
    cpu_s: float
    # Number of settings that did not run, because the CPU seconds were used up or the first ones all failed alike.
    skipped: int = 0
    # Instances of the runs.
    subset: Subset = field(default_factory=Subset)
    # CPU seconds of imports and compilation of the first setting.
    start_s: float = 0.0

    @property
    def best(self) -> SweepRow | None:
        """First of the ranked rows; None if all failed."""
        return next((row for row in self.ranked if row.score is not None), None)

    @property
    def ranked(self) -> tuple[SweepRow, ...]:
        """Rows, best first, failures last. Rows of a later comparison come before those that were dropped."""
        sign = self.direction.sign
        return tuple(sorted(self.rows, key=lambda row: (row.score is None, -row.comparison, -sign * self._gain(row))))

    def _gain(self, row: SweepRow) -> float:
        """Return the difference to the present setting in natural units; without one, to its score."""
        if row.difference is not None:
            return row.difference.mean
        return (row.score or 0.0) - (self.rows[0].score or 0.0)

    def is_shown_better(self, row: SweepRow) -> bool:
        """Return True if a row is shown to be better than the present setting.

        The interval of its difference decides; without values of instances, the score does.
        """
        if row is self.rows[0] or row.score is None:
            return False
        if row.difference is not None:
            return row.difference.is_better(self.direction)
        return self.rows[0].score is None or self.direction.better(row.score, self.rows[0].score)

    def write_program(self, row: SweepRow) -> str:
        """Return the program with the values of a row."""
        source, arrays = contract_references(self.source)
        text = write_values(source, row.values)
        return expand_references(text, arrays.get) if arrays else text


def compare_pairs(values: Values, present: Values) -> PairedDifference | None:
    """Return the difference of values to those of the present setting; None if they have no instances in common.

    If one of them has more instances of a size, the first ones are compared.
    """
    pairs = {size: [*zip(of_size, present.get(size, ()), strict=False)] for size, of_size in values.items()}
    if not pairs or not all(pairs.values()):
        return None
    weights = [1 / (len(pairs) * len(of_size)) for of_size in pairs.values() for _ in of_size]
    differences = [value - other for of_size in pairs.values() for value, other in of_size]
    mean_difference = sum(weight * gain for weight, gain in zip(weights, differences, strict=True))
    return PairedDifference(mean_difference, sign_flip_interval(differences, weights), len(differences))


def read_axes(words: Sequence[str], source: str) -> tuple[SweepAxis, ...]:
    """Read the parameters of a sweep.

    Args:
        words: ``name=1,2,5`` for values, ``name=1..60`` with ``,int`` or ``,log`` for a range, ``name`` for the range
            that the program declares.
        source: Text of the program.

    Raises:
        ConfigError: A word has the wrong form, a parameter is named twice, or there are too many settings.
        CandidateError: The program has no such constant or default.
    """
    reading = read_parameters(source)
    declared = {parameter.name: parameter for parameter in reading.parameters}
    axes = [_read_axis(word.replace(" ", ""), source, declared) for word in words]
    names = [axis.name for axis in axes]
    if not axes:
        raise ConfigError("name at least one parameter, such as window=5,10,20 or window=5..60")
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"parameter {repeated!r} is named twice")
    if len({bool(axis.values) for axis in axes}) > 1:
        raise ConfigError("give values to all parameters (a grid), or ranges to all of them (a search), not both")
    if (number := math.prod(max(1, len(axis.values)) for axis in axes)) > MAX_SETTINGS:
        raise ConfigError(f"this grid has {number:,} settings, and a sweep takes at most {MAX_SETTINGS}")
    return tuple(axes)


def _read_axis(word: str, source: str, declared: Mapping[str, ProgramParameter]) -> SweepAxis:
    if match := _VALUES.fullmatch(word):
        present = read_value(source, match["name"])
        texts = match["values"].split(",")
        numbers = [int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text) for text in texts]
        return SweepAxis(match["name"], present, tuple(dict.fromkeys(numbers)))
    if match := _RANGE.fullmatch(word):
        present, flags = read_value(source, match["name"]), match["flags"].split(",")
        low, high, is_log = float(match["low"]), float(match["high"]), "log" in flags
        if not low < high or (is_log and low <= 0):
            raise ConfigError(f"{word!r}: the first end of a range must be the smaller one, and positive for log")
        whole = all("." not in end and "e" not in end.lower() for end in (match["low"], match["high"]))
        is_integer = "int" in flags or (whole and present == round(present) and "float" not in flags)
        return SweepAxis(
            match["name"], present, (), ProgramParameter(match["name"], present, low, high, is_integer, is_log)
        )
    if declaration := declared.get(word):
        return SweepAxis(word, declaration.value, (), declaration)
    if re.fullmatch(NAME, word):
        read_value(source, word)
        raise ConfigError(f"the program declares no range for {word}: write {word}=1,2,5 or {word}=1..60")
    raise ConfigError(f"{word!r} does not name a parameter: write window=5,10,20 or window=5..60 or window=0.1..10,log")


async def run_probe(
    measure: InstanceRunner, source: str, subset: Subset, cpu_s: float = CPU_S, observer: str = ""
) -> ProbeResult:
    """Run a program on instances, size by size, for at most ``cpu_s`` CPU seconds. The sizes of practice run together.

    ``subset`` comes from `Subset.check`. ``observer`` is the text of a program that the evaluator's hooks call; empty
    means none.
    """
    results: list[SizeResult] = []
    printed: list[str] = []
    used = 0.0
    sizes: Sequence[int | None] = subset.sizes or (None,)
    for size in sizes:
        if results and cpu_s - used < MIN_S:
            break
        evaluation = await measure(source, size, subset, cpu_s - used, observer)
        results.append(_size_result(size, evaluation))
        printed.append(evaluation.log)
        used += results[-1].cpu_s
    return ProbeResult(tuple(results), "".join(printed), round(used, 4), len(sizes) - len(results))


def _size_result(size: int | None, evaluation: Evaluation) -> SizeResult:
    metrics = evaluation.metrics
    return SizeResult(
        size,
        evaluation.status,
        evaluation.score,
        _as_count(metrics.get(DONE)),
        _as_count(metrics.get("heuristic_calls")),
        _as_seconds(metrics.get("heuristic_seconds")),
        _as_seconds(metrics.get(SECONDS)) or evaluation.cpu_s,
        evaluation.message,
        metrics,
    )


def _as_count(value: Any) -> int | None:
    if type(value) is int:
        return value
    return None


def _as_seconds(value: Any) -> float | None:
    if type(value) in (int, float):
        return float(value)
    return None


def read_places(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the CPU seconds of the function at each size, if the evaluator reports them."""
    places = metrics.get(PLACES)
    times = places.items() if isinstance(places, dict) else ()
    return {str(name): float(value) for name, value in times if type(value) in (int, float)}


def read_counts(metrics: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of instances at each size, if the evaluator reports them."""
    counts = metrics.get(COUNTS)
    items = counts.items() if isinstance(counts, dict) else ()
    return {str(name): count for name, count in items if type(count) is int and count > 0}


def read_details(metrics: Mapping[str, Any]) -> TimeDetails:
    """Return the further figures of the time of a run, if the evaluator reports them."""
    seconds = [max(_as_seconds(metrics.get(name)) or 0.0, 0.0) for name in (UNCOUNTED, START)]
    return TimeDetails(read_counts(metrics), *seconds)


def scale_seconds(
    seconds: float | None,
    places: Mapping[str, float],
    instances: int | None,
    planned: Any,
    details: TimeDetails | None = None,
    planned_counts: Mapping[str, int] | None = None,
) -> float | None:
    """Estimate the CPU seconds of the function on ``planned`` instances of the same sizes; None if unknown.

    The time of imports and compilation belongs to no size, and counts once. If both numbers of instances at each size
    are known, ``planned_counts`` is that of the planned ones, and each size is scaled for itself.
    """
    if seconds is None or not instances or type(planned) is not int:
        return None
    details, planned_counts = details or TimeDetails(), planned_counts or {}
    once = max(seconds - sum(places.values()), 0.0) if places else 0.0
    counted = seconds - once
    # Runs of experiments share machine code, a scored program compiles itself.
    once = max(once, details.start_s - FIRST_S)
    names = [name for name in places if name in details.counts and name in planned_counts]
    if not names or len(names) < len(places):
        return once + _count_first(counted * planned / instances, planned / instances, details)
    factors = {name: planned_counts[name] / details.counts[name] for name in names}
    return once + _count_first(sum(places[name] * factors[name] for name in names), factors[names[0]], details)


def _count_first(scaled: float, factor: float, details: TimeDetails) -> float:
    """Return scaled seconds as if the first call of the run was counted, but not that of a scored evaluation."""
    free_s = min(details.uncounted_s, max(FIRST_S - details.start_s, 0.0))
    return max(scaled + details.uncounted_s * factor - free_s, 0.0)


# Function that is called with the number of settings run, the number planned, and the CPU seconds used.
NoticeSettings = Callable[[int, int, float], None]


def read_start(result: ProbeResult) -> float:
    """Return the largest CPU seconds of imports and compilation of a run."""
    return max((_as_seconds(size.metrics.get(START)) or 0.0 for size in result.sizes), default=0.0)


# Function that gets the amount of work of a setting and its row, and returns the amount with which it fills the time
# limit; None if its time is unknown.
Refit = Callable[[float, SweepRow], float | None]
# Function that waits for several runs, in parallel if there are workers, and returns their results in order.
Gather = Callable[[Sequence[Awaitable[ProbeResult]]], Awaitable[Sequence[ProbeResult]]]


async def run_sweep(
    measure: InstanceRunner,
    gather: Gather,
    source: str,
    axes: Sequence[SweepAxis],
    subset: Subset,
    direction: Direction,
    *,
    cpu_s: float = CPU_S,
    settings: int = EVOLVED_SETTINGS,
    seed: int = 0,
    least: int = 0,
    refit: Refit | None = None,
    halving: bool = False,
    notice: NoticeSettings = lambda ended, planned, cpu_s: None,
) -> SweepResult:
    """Run a program with other values of its parameters. ``cpu_s`` limits the CPU seconds of all runs together.

    The present values run first. The sweep ends there if the remaining CPU seconds allow fewer than ``least`` settings.
    A grid runs in order. CMA-ES (Hansen & Ostermeier 2001, doi:10.1162/106365601750190398) searches several ranges with
    ``settings`` settings; a single range is searched at equidistant values. The number of parallel runs and the end of
    the sweep depend only on the results, not on the number of workers.

    With ``refit``, each setting gets its own amount of work, so that all are compared at equal time. With ``halving``,
    the first comparison uses as many of the instances of ``subset`` as the CPU seconds allow. The better half and the
    present values then run on twice as many other instances, and so on (sequential halving: Karnin et al. 2013, "Almost
    optimal exploration in multi-armed bandits"). The evaluator must report the values of instances.
    """
    sweep = _Sweep(measure, gather, source, subset, direction, cpu_s, notice)
    sweep.numbers = [axis.name for axis in axes]
    sweep.work = next((parameter.name for parameter in read_parameters(source).parameters if parameter.is_work), "")
    sweep.refit = None if sweep.work in sweep.numbers else refit
    present = {axis.name: axis.present for axis in axes}
    ranges = [axis.parameter for axis in axes if axis.parameter is not None]
    grid: list[Mapping[str, float]] = []
    if len(ranges) > 1:
        sweep.planned = 1 + min(settings, MAX_SETTINGS)
    else:
        spaced = [_parameter_value(ranges[0], at / (LINE_POINTS - 1)) for at in range(LINE_POINTS)] if ranges else []
        values, names = [axis.values or dict.fromkeys(spaced) for axis in axes], [axis.name for axis in axes]
        grid = [dict(zip(names, point, strict=True)) for point in itertools.product(*values)]
        sweep.planned = len({tuple(point.values()) for point in [present, *grid]})
    await sweep.run_all([present])
    if halving:
        sweep.begin_halving()
    if sweep.affordable() < least:
        return sweep.result()
    if len(ranges) > 1:
        await sweep.evolve(ranges, min(settings, MAX_SETTINGS), seed)
    else:
        await sweep.run_all(grid)
    if halving:
        await sweep.halve()
    return sweep.result()


class _Sweep:
    """Runs of a sweep, and its remaining CPU seconds."""

    def __init__(
        self,
        measure: InstanceRunner,
        gather: Gather,
        source: str,
        subset: Subset,
        direction: Direction,
        cpu_s: float,
        notice: NoticeSettings,
    ) -> None:
        self._measure, self._gather, self._source, self._subset = measure, gather, source, subset
        # Instances of the current comparison.
        self._compared = subset
        self._direction, self._remaining_s, self._limit_s = direction, cpu_s, cpu_s
        # Rows by the text of the program, without a change of the amount of work.
        self._rows: dict[str, SweepRow] = {}
        # Number of instances of each size on which a row was measured last.
        self._counts: dict[str, int] = {}
        self.halves = True
        self._skipped = 0
        # CPU seconds of imports and compilation of the first setting.
        self._start_s = 0.0
        # Names of the parameters that compiled functions get as arguments; empty if they are compiled into them.
        self.numbers: Sequence[str] = ()
        # Name of the parameter for the amount of work; empty without one.
        self.work = ""
        # Function that sets the amount of work of each setting; None if all have the amount of the program.
        self.refit: Refit | None = None
        # Number of settings that the sweep runs if its CPU seconds allow it.
        self.planned = 0
        self._notice = notice

    async def run_all(self, points: Sequence[Mapping[str, float]]) -> list[SweepRow | None]:
        """Run settings in order until the CPU seconds are used up; earlier results are reused."""
        programs = [write_values(self._source, point) for point in points]
        waiting = [*dict.fromkeys(program for program in programs if program not in self._rows)]
        values = dict(zip(programs, points, strict=True))
        if self.work:
            # Settings with the least work run first.
            waiting.sort(key=lambda program: values[program].get(self.work, 0.0))
        while waiting and (count := self._at_once()):
            batch, waiting = waiting[:count], waiting[count:]
            await self._run_batch({program: values[program] for program in batch})
            too_dear = self._least_work_out_of_time()
            self._skipped += sum(values[program].get(self.work, 0.0) >= too_dear for program in waiting)
            waiting = [program for program in waiting if values[program].get(self.work, 0.0) < too_dear]
        self._skipped += len(waiting)
        return [self._rows.get(program) for program in programs]

    async def _run_batch(self, points: Mapping[str, Mapping[str, float]]) -> None:
        """Run settings, by their programs. Those whose time is not the target run again with another amount of work."""
        is_present = not self._rows
        await self._measure_batch(points)
        if is_present:
            # Its amount of work was set before the sweep.
            return
        works = {program: self._refitted(self._rows[program]) for program in points}
        again = {program: {**points[program], self.work: work} for program, work in works.items() if work is not None}
        if again and self._remaining_s >= MIN_S:
            await self._measure_again(again)

    async def _measure_batch(self, points: Mapping[str, Mapping[str, float]]) -> None:
        self._notice(len(self._rows), self.planned, self._limit_s - self._remaining_s)
        limit_s = self._remaining_s / len(points)
        is_present = not self._rows
        results = await self._measure_all([write_values(self._source, point) for point in points.values()], limit_s)
        if is_present:
            self._start_s = read_start(results[0])
        for (program, point), result in zip(points.items(), results, strict=True):
            row = replace(_sweep_row(point, result, limit_s), comparison=self._compared.seed)
            present = next(iter(self._rows.values()), None)
            if present is not None and program != next(iter(self._rows)) and row.score is not None:
                row = replace(row, difference=compare_pairs(row.by_instance, present.by_instance))
            self._remaining_s -= result.cpu_s
            self._rows[program], self._counts[program] = row, self._compared_count

    def _refitted(self, row: SweepRow) -> float | None:
        """Return another amount of work that fills the time limit; None if the present one does, or it is unknown."""
        if self.refit is None:
            return None
        present = row.values.get(self.work) or read_value(self._source, self.work)
        work = self.refit(present, row)
        return None if work is None or work == present else work

    async def _measure_all(self, programs: Sequence[str], limit_s: float) -> Sequence[ProbeResult]:
        """Run programs; if the first one fails because compiled functions get numbers as arguments, do without."""
        numbers = [*self.numbers, self.work] if self.refit is not None and self.numbers else self.numbers
        texts = [pass_numbers(program, numbers) for program in programs]
        works = [run_probe(self._measure, text, self._compared, limit_s) for text in texts]
        results = await self._gather(works)
        is_failed = all(any(size.status is Status.ERROR for size in result.sizes) for result in results)
        if self._rows or not is_failed or texts == [*programs]:
            return results
        self.numbers = ()
        again = await run_probe(self._measure, programs[0], self._compared, limit_s)
        return [replace(again, cpu_s=again.cpu_s + results[0].cpu_s)]

    def _least_work_out_of_time(self) -> float:
        """Return the least amount of work at which a setting ran out of time; infinite if none did."""
        rows = self._rows.values() if self.work and self.refit is None else ()
        return min((row.values.get(self.work, math.inf) for row in rows if row.is_out_of_time), default=math.inf)

    def affordable(self) -> float:
        """Return the number of settings that the CPU seconds allow, if each takes as long as the slowest one so far."""
        return self._remaining_s / max(self._cost_s(), 1e-9)

    def _cost_s(self) -> float:
        """Return the CPU seconds of a setting in the current comparison: those of the slowest one so far."""
        (first, first_row), *others = self._rows.items()
        # The other settings share its machine code.
        first_s = first_row.cpu_s - self._start_s if "numba" in self._source else first_row.cpu_s
        times = [(first, first_s), *((program, row.cpu_s) for program, row in others)]
        return max(seconds * self._compared_count / self._counts[program] for program, seconds in times)

    @property
    def _compared_count(self) -> int:
        return int(self._compared.instances) if self._compared.instances.isdigit() else 1

    def begin_halving(self) -> None:
        """Choose the number of instances of the first comparison, so that the CPU seconds allow all comparisons."""
        present = next(iter(self._rows.values()))
        if not present.by_instance or not self._subset.instances.isdigit():
            self.halves = False
            return
        asked, others = self._compared_count, max(self.planned - 1, 1)
        # Each comparison has half of the settings and twice the instances, so all cost about the same.
        comparisons = math.ceil(math.log2(others)) + (REFITTED_RUNS if self.refit is not None else 1.0)
        count = int(self._remaining_s * asked / max(self._cost_s() * others * comparisons, 1e-9))
        self._compared = replace(self._subset, instances=str(min(max(count, 1), asked)))

    async def halve(self) -> None:
        """Compare the better half with the present values on twice as many other instances, until few are left."""
        present, *others = self._rows
        contenders = [program for program in others if self._rows[program].difference is not None]
        most = MAX_MORE_INSTANCES * int(self._subset.instances) if self.halves else 0
        while contenders and 2 * self._compared_count <= most:
            contenders.sort(key=lambda program: -self._direction.sign * _mean_difference(self._rows[program]))
            contenders = contenders[: max(1, len(contenders) // 2)]
            seed, count = self._compared.seed + 1, 2 * self._compared_count
            self._compared = replace(self._compared, seed=seed, instances=str(count))
            if self._cost_s() * (1 + len(contenders)) > self._remaining_s:
                return
            batch = [present, *contenders]
            for begin in range(0, len(batch), AT_ONCE):
                await self._compare_again(batch[begin : begin + AT_ONCE])
            contenders = [program for program in contenders if self._rows[program].comparison == seed]
            if self._rows[present].comparison != seed:
                return

    async def _compare_again(self, programs: Sequence[str]) -> None:
        """Run settings on the instances of the current comparison, with the work that their times call for."""
        points: dict[str, Mapping[str, float]] = {}
        for program in programs:
            row = self._rows[program]
            work = self._refitted(row)
            points[program] = row.values if work is None else {**row.values, self.work: work}
        await self._measure_again(points)

    async def _measure_again(self, points: Mapping[str, Mapping[str, float]]) -> None:
        """Run settings that ran before. One that now runs out of time keeps its earlier score, if it has one."""
        before = {program: self._rows[program] for program in points}
        await self._measure_batch(points)
        for program, row in before.items():
            later = self._rows[program]
            if later.message == USED_UP or (later.is_out_of_time and row.score is not None):
                self._rows[program] = row

    def _at_once(self) -> int:
        """Return the number of settings to run next; they should end within the remaining CPU seconds.

        The number is 0 if the first two settings failed for the same reason.
        """
        messages = {row.message for row in self._rows.values()}
        all_fail = len(messages) == 1 and "" not in messages
        if self._remaining_s < MIN_S or (all_fail and len(self._rows) > 1):
            return 0
        if not self._rows or all_fail:
            return 1
        return max(1, min(AT_ONCE, int(self.affordable())))

    async def evolve(self, ranges: Sequence[ProgramParameter], settings: int, seed: int) -> None:
        start = np.array([find_position(axis.value, axis.low, axis.high, axis.is_logarithmic) for axis in ranges])
        size, sign = 4 + int(3 * math.log(len(ranges))), self._direction.sign
        search = start_cma_es(start, SPREAD, size, seed)
        for generation in range(0, settings, size):
            places = [search.ask() for _ in range(size)]
            points = [
                {axis.name: _parameter_value(axis, float(at)) for axis, at in zip(ranges, index, strict=True)}
                for index in places
            ]
            rows = await self.run_all(points[: settings - generation])
            if len(rows) < size or None in rows:
                break
            losses = [math.inf if row is None or row.score is None else -sign * row.score for row in rows]
            search.tell([*zip(places, losses, strict=True)])

    def result(self) -> SweepResult:
        used = round(self._limit_s - self._remaining_s, 4)
        rows = tuple(self._rows.values())
        return SweepResult(rows, self._direction, self._source, used, self._skipped, self._subset, self._start_s)


def _mean_difference(row: SweepRow) -> float:
    return 0.0 if row.difference is None else row.difference.mean


def _sweep_row(values: Mapping[str, float], result: ProbeResult, limit_s: float) -> SweepRow:
    times = [size.seconds for size in result.sizes if size.seconds is not None]
    has_ended = any(size.status is Status.TIMEOUT for size in result.sizes) and result.cpu_s >= NEARLY * limit_s
    message = USED_UP if has_ended else result.problem or ("" if result.score is not None else USED_UP)
    counts = [size.instances for size in result.sizes if size.instances is not None]
    instances = sum(counts) if len(counts) == len(result.sizes) else None
    places = {name: value for size in result.sizes for name, value in read_places(size.metrics).items()}
    seconds = sum(times) if times else None
    is_out_of_time = any(size.status is Status.TIMEOUT for size in result.sizes)
    by_size = [read_instance_values(size.metrics) or {} for size in result.sizes]
    by_instance = {name: values for of_size in by_size for name, values in of_size.items()} if all(by_size) else {}
    return SweepRow(
        dict(values),
        result.score,
        seconds,
        result.cpu_s,
        message,
        instances,
        places,
        details=read_details(result.sizes[0].metrics) if len(result.sizes) == 1 else TimeDetails(),
        is_out_of_time=is_out_of_time,
        by_instance=by_instance,
    )


def start_cma_es(start: Vector, spread: float, size: int, seed: int) -> "CMA":
    """Return a CMA-ES in the unit cube (Hansen 2016, arXiv:1604.00772).

    Args:
        start: First mean, ``(d,)`` in the unit cube up to rounding errors.
        spread: First step size, as a share of the cube's side.
        size: Number of points in a generation, at least 2.
        seed: Seed of the draws.
    """
    # Imported here because it is slow to import.
    from cmaes import CMA

    bounds = np.tile([0.0, 1.0], (len(start), 1))
    return CMA(np.clip(start, 0.0, 1.0), spread, bounds, seed=seed, population_size=size)


def find_position(value: float, low: float, high: float, is_logarithmic: bool) -> float:
    """Return the position of a value in a range, from 0 to 1; logarithmic if the range spans orders of magnitude."""
    inside = min(max(value, low), high)
    if is_logarithmic:
        return math.log(inside / low) / math.log(high / low)
    return (inside - low) / (high - low)


def value_at(position: float, low: float, high: float, is_logarithmic: bool) -> float:
    """Return the value at a position of a range."""
    if is_logarithmic:
        return float(low * (high / low) ** position)
    return float(low + position * (high - low))


def _parameter_value(parameter: ProgramParameter, position: float) -> float:
    """Return the value at a position of a range, with six significant digits."""
    value = value_at(position, parameter.low, parameter.high, parameter.is_logarithmic)
    if parameter.is_integer:
        return round(value)
    return float(f"{value:.6g}")
