"""Numbers of a program before it is scored: sweeps of its parameters at equal time, and its amount of work.

Neither costs an evaluation. A sweep of a program that was scored before changes it only if a setting is shown to be
better than the present one, by the interval of their paired difference. A new program gets the best setting.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from oragent._base.errors import CandidateError, ConfigError
from oragent.programs.parameters import ProgramParameter, read_parameters
from oragent.search.calibration import MAX_VALUES, Calibration, calibrate, fill_limit, work_parameter
from oragent.search.candidate import Elite
from oragent.search.coarse_times import describe_seconds, round_down
from oragent.search.experiments import (
    CPU_S,
    MIN_S,
    PRACTICE,
    ProbeResult,
    Refit,
    Subset,
    SweepResult,
    SweepRow,
    read_counts,
    read_places,
    scale_seconds,
)
from oragent.search.prompting.prompt_templates import INSTANCES, TOTAL
from oragent.search.prompting.search_summary import best_elites, clock_cpu_s_left, clock_s_left
from oragent.search.round_context import RoundContext

# Maximum share of the function's time limit for a setting of a sweep.
NEARLY = 0.95
# Number of best settings of a sweep that a prompt shows.
MAX_SETTINGS = 12
# Share of the remaining CPU seconds for experiments that a sweep may use, if that is more than `CPU_S`.
SWEEP_SHARE = 0.5
# Maximum shares of the CPU seconds until the end of the clock for a sweep, and for the calibration of a program.
CLOCK_SHARE, CALIBRATION_SHARE = 0.1, 0.25
# Maximum number of practice instances of each size that a reply may ask for.
MAX_INSTANCES = 64
# Word of a sweep that asks for a number of practice instances of each size.
INSTANCES_WORD = re.compile(r"instances=(\d{1,4})", re.IGNORECASE)


async def sweep_numbers(
    run: RoundContext, source: str, words: Sequence[str], scored: Elite | None, least: int = 0
) -> Calibration:
    """Return a program with the best values of some parameters.

    On practice instances each setting gets the amount of work that fills the time limit, if the program declares its
    work, also if ``words`` name it. Other settings that would exceed the limit are left out; if all would, no program
    is scored.

    Args:
        run: Round of the sweep.
        source: Text of the program.
        words: Parameters with their values, in the form that ``read_axes`` reads; ``instances=16`` asks for more
            practice instances.
        scored: The program itself if it was scored, otherwise its parent.
        least: Number of settings that the CPU seconds must allow.
    """
    axes, subset = split_instances(words, run.experiments.instances)
    is_scored = scored is not None and source == scored.source
    refit, report = None, ""
    limit_s, planned, work = _time_limit(run), scored_instances(run), work_parameter(source)
    if subset.mode == PRACTICE and work is not None and limit_s is not None and planned is not None:
        axes = tuple(axis for axis in axes if axis.partition("=")[0].strip() != work.name)
        if not is_scored or not axes:
            calibrated = await calibrate_work(run, source)
            if calibrated.problem or not axes:
                return calibrated
            source, report = calibrated.source, calibrated.report
        refit = fill_limit(source, limit_s, planned, scored_counts(run))
    try:
        seconds = _sweep_limit(run)
        result = await run.experiments.sweep(source, axes, subset, seconds, least=least, refit=refit)
    except (ConfigError, CandidateError) as problem:
        return Calibration(source, f"{report}\nThe sweep failed: {problem}".strip())
    chosen = _choose_setting(run, source, scored, result, refit)
    return replace(chosen, report=f"{report}\n{chosen.report}".strip())


def fill_again(row: SweepRow, work: ProgramParameter | None, refit: Refit | None) -> SweepRow:
    """Return a setting with less work if its last run took more of the time limit than intended."""
    if work is None or refit is None:
        return row
    present = row.values.get(work.name, work.value)
    filled = refit(present, row)
    if filled is None or filled >= present:
        return row
    return replace(row, values={**row.values, work.name: filled})


def _sweep_limit(run: RoundContext) -> float:
    """Return the maximum CPU seconds of a sweep, by those that remain for experiments and by the clock."""
    cpu_s = run.experiments.cpu_s_left
    limit_s = CPU_S if math.isinf(cpu_s) else max(CPU_S, SWEEP_SHARE * cpu_s)
    return max(min(limit_s, CLOCK_SHARE * clock_cpu_s_left(run)), MIN_S)


def list_numbers(run: RoundContext, source: str) -> list[str]:
    """Return the names of the declared parameters that a sweep can vary.

    The amount of work is none of them where each setting gets the amount that fills the time limit.
    """
    fills = run.experiments.instances.mode == PRACTICE and _time_limit(run) is not None
    return [parameter.name for parameter in read_parameters(source).parameters if not (fills and parameter.is_work)]


def split_instances(words: Sequence[str], subset: Subset) -> tuple[tuple[str, ...], Subset]:
    """Return the parameters of a sweep, and its instances if a word asks for a number of practice instances."""
    asked = [match for word in words if (match := INSTANCES_WORD.fullmatch(word))]
    axes = tuple(word for word in words if not INSTANCES_WORD.fullmatch(word))
    if asked and subset.mode == PRACTICE:
        return axes, replace(subset, instances=str(min(max(int(asked[-1][1]), 1), MAX_INSTANCES)))
    return axes, subset


def _choose_setting(
    run: RoundContext, source: str, scored: Elite | None, result: SweepResult, refit: Refit | None
) -> Calibration:
    is_scored = scored is not None and source == scored.source
    ranked = [(row, expected_seconds(run, source, scored, result, row)) for row in result.ranked]
    scorable = [(row, seconds) for row, seconds in ranked if row.score is not None]
    fitting = [(row, seconds) for row, seconds in scorable if has_time(run, seconds)]
    if is_scored:
        fitting = [(row, seconds) for row, seconds in fitting if result.is_shown_better(row)]
    is_practice = result.subset.mode == PRACTICE
    shown, chosen = ranked[:MAX_SETTINGS], fitting[:1]
    if is_practice:
        shown += [pair for pair in chosen if pair not in shown]
    lines = [*_describe_rules(result), *(sweep_line(row, seconds) for row, seconds in shown)]
    if chosen:
        row = fill_again(chosen[0][0], work_parameter(source), refit)
        lines += [f"Of these, {setting_words(row)} is scored."] if is_practice else []
        return Calibration(result.write_program(row), "\n".join(lines))
    if is_scored:
        lines.append("No setting is shown to be better than the present values: none is scored.")
        return Calibration(source, "\n".join(lines))
    late, limit_s = [(row, seconds) for row, seconds in scorable if seconds is not None], _time_limit(run)
    problem = _describe_excess(late, limit_s) if is_practice and late and limit_s is not None else ""
    return Calibration(source, "\n".join(lines), problem)


def _describe_rules(result: SweepResult) -> list[str]:
    """Explain the differences of the rows; empty without differences."""
    if all(row.difference is None for row in result.rows):
        return []
    text = "Differences are to the present values on the same instances, with intervals at 95 %"
    if any(row.comparison for row in result.rows):
        text += "; the better settings were compared on more instances"
    return [f"{text}:"]


def _describe_excess(late: Sequence[tuple[SweepRow, float]], limit_s: float) -> str:
    """State that no setting of a sweep fits the time limit, and what share of the fastest setting's work would fit."""
    row, seconds = min(late, key=lambda pair: pair[1])
    percent = round_down(100 * NEARLY * limit_s / seconds)
    return (
        f"no setting of the sweep fits the time limit of {limit_s:g} s: the fastest, {setting_words(row)}, would take "
        f"{describe_seconds(seconds)} when it is scored; values with {percent:g} % of its work fit"
    )


async def calibrate_work(run: RoundContext, source: str) -> Calibration:
    """Set the work parameter of a program, if it declares one, based on its time on practice instances."""
    limit_s, planned, practice = _time_limit(run), scored_instances(run), run.experiments.instances
    if practice.mode != PRACTICE or limit_s is None or planned is None:
        return Calibration(source)
    if work_parameter(source) is None or run.experiments.cpu_s_left < MIN_S:
        return Calibration(source)
    runs = min(CALIBRATION_SHARE * clock_cpu_s_left(run) / limit_s, MAX_VALUES)
    if runs < 1:
        return Calibration(
            source, "Too little time is left on the clock to set the work: the program is scored as it is."
        )

    sizes = practice.sizes or run.problem.about.sizes.get("val", ())
    # The time of as many instances as a score has is known well enough.
    count = min(practice.count or planned, max(planned // max(len(sizes), 1), 1))
    subset = replace(practice, instances=str(count))

    async def measure(text: str) -> ProbeResult:
        return await run.experiments.probe_train(text, subset)

    try:
        return await calibrate(measure, source, limit_s, planned, int(runs), planned_counts=scored_counts(run))
    except (ConfigError, CandidateError):
        # No CPU seconds are left.
        return Calibration(source)


def expected_seconds(
    run: RoundContext, source: str, scored: Elite | None, result: SweepResult, row: SweepRow
) -> float | None:
    """Return the expected CPU seconds of the function when a setting is scored; None if unknown.

    Training instances may have other sizes. The estimate is then in proportion to the seconds of a scored program.
    """
    present = result.rows[0]
    if result.subset.mode == PRACTICE:
        return scale_seconds(
            row.seconds, row.places, row.instances, scored_instances(run), row.details, scored_counts(run)
        )
    total = None if scored is None else scored.metrics.get(TOTAL)
    if scored is None or not isinstance(total, int | float) or row.seconds is None or not present.seconds:
        return None
    if source == scored.source:
        return total * row.seconds / present.seconds
    if row is present or run.settings.strategy.experiment_s is None:
        return None
    places = read_places(scored.metrics)
    shares = [places[name] for size in result.subset.sizes if (name := f"size {size}") in places]
    if len(shares) == len(result.subset.sizes) and sum(shares) > 0:
        return row.seconds * total / sum(shares)
    return None


def scored_instances(run: RoundContext) -> int | None:
    """Return the number of instances of a scored evaluation; None if the evaluator does not count them."""
    count = best_elites(run)[0].metrics.get(INSTANCES)
    return count if type(count) is int else None


def scored_counts(run: RoundContext) -> dict[str, int]:
    """Return the numbers of instances of a scored evaluation by size; empty if the evaluator does not report them."""
    return read_counts(best_elites(run)[0].metrics)


def has_time(run: RoundContext, seconds: float | None) -> bool:
    """Return True if a program with this expected time fits the time limit, or its time is unknown."""
    limit_s = _time_limit(run)
    return limit_s is None or seconds is None or seconds <= NEARLY * limit_s


def _time_limit(run: RoundContext) -> float | None:
    return run.problem.heuristic_s(run.settings.limits)


def setting_words(row: SweepRow) -> str:
    """Return the values of a setting, such as ``WINDOW = 15, SHARE = 0.5``."""
    return ", ".join(f"{name} = {value:g}" for name, value in row.values.items())


def sweep_line(row: SweepRow, expected_s: float | None = None) -> str:
    """Describe a setting of a sweep on one line, with the expected CPU seconds of its scoring, if known."""
    if row.score is None:
        return f"- {setting_words(row)}: {row.message}"
    time = "" if row.seconds is None else f", {describe_seconds(row.seconds)}"
    if expected_s is not None:
        time = f", {describe_seconds(expected_s)} when scored"
    value = f"{row.score:.6g}"
    if row.difference is not None:
        # Scores on other instances than those of the present values cannot be compared.
        value = f"{row.difference} on {row.difference.instances} instances"
    return f"- {setting_words(row)}: {value}{time}"


def experiment_words(run: RoundContext) -> str:
    """Describe the instances of sweeps."""
    subset, sizes = run.experiments.instances, run.problem.about.sizes
    if subset.mode == PRACTICE:
        shown = ", ".join(map(str, subset.sizes or sizes.get("val", ())))
        return f"{subset.instances} practice instances of each size ({shown}), drawn as those of the score"
    shown = ", ".join(map(str, sizes.get("train", ())))
    if shown:
        return f"training instances (sizes: {shown})"
    return "training instances"


def sweep_seconds(run: RoundContext) -> str:
    """Describe what a sweep costs of the clock and of the CPU seconds for sweeps; empty if both are unlimited."""
    remaining, clock = run.experiments.cpu_s_left, ""
    if clock_s_left(run) is not None:
        clock = ", but up to a third of the time that is left on the clock"
    if math.isinf(remaining):
        return clock
    return f"{clock} (at least {round_down(remaining):g} CPU seconds are left for it)"
