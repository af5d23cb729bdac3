"""Files of schedules: JSON, and job shops in the text form of the OR-Library and JSPLIB.

The text form has comments (``#``, ``+``, or lines that do not begin with a number), then a line with the numbers of
jobs and machines, then one line per job with the machine (from 0) and the duration of each operation in order.
"""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent._base.text_decoding import decode_leniently
from oragent.modelling.data.display import plain, quoted
from oragent.modelling.files.model_files import read_bytes
from oragent.modelling.scheduling.schedule_model import (
    Interval,
    NoOverlap,
    Precedence,
    SchedulingModel,
    schedule_from_json,
    schedule_to_json,
)

if TYPE_CHECKING:
    from oragent.modelling.scheduling.schedule_solving import SchedulingSolution

# Maximum number of operations of a job shop.
MAX_OPERATIONS = 100_000
PLANS = (".csv", ".json")


def read_schedule(path: Path) -> SchedulingModel:
    """Read a schedule from a file. ``ModellingError`` begins with the name of the file."""
    content = read_bytes(path, "a schedule")
    try:
        if path.suffix.lower() == ".json":
            return schedule_from_json(content)
        return job_shop_from_text(decode_leniently(content), path.stem)
    except ModellingError as problem:
        raise ModellingError(f"{plain(str(path), 200)}: {problem}") from None


def job_shop_from_text(text: str, name: str = "") -> SchedulingModel:
    """Read a job shop. Operation 2 of job 1 is named ``op[J1, 2]``, and machines are named ``M0``, ``M1``.

    Raises:
        ModellingError: A line is malformed. The message names its number.
    """
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if _is_data(line)]
    if not lines:
        raise ModellingError("no line with numbers: expected the numbers of jobs and machines first")
    jobs, machines = _header(*lines[0])
    rows = lines[1:]
    if len(rows) != jobs:
        raise ModellingError(f"{len(rows)} lines of jobs after the first line; expected {jobs}")
    intervals, precedences = [], []
    used: dict[int, list[str]] = {machine: [] for machine in range(machines)}
    for job, (line, words) in enumerate(rows, 1):
        figures = _whole_numbers(line, words)
        if len(figures) % 2:
            raise ModellingError(f"line {line}: {len(figures)} numbers; expected pairs of machine and duration")
        for step, (machine, duration) in enumerate(zip(figures[::2], figures[1::2], strict=True), 1):
            if machine not in used:
                raise ModellingError(f"line {line}: machine {machine}; expected one from 0 to {machines - 1}")
            operation = f"op[J{job}, {step}]"
            intervals.append(Interval(operation, duration))
            used[machine].append(operation)
            if step > 1:
                precedences.append(Precedence(f"op[J{job}, {step - 1}]", operation))
    places = tuple(NoOverlap(f"M{machine}", tuple(names)) for machine, names in used.items())
    return SchedulingModel(tuple(intervals), places, (), tuple(precedences), name=name)


def _is_data(line: str) -> bool:
    return line.strip()[:1].isdigit()


def _header(line: int, words: list[str]) -> tuple[int, int]:
    figures = _whole_numbers(line, words)
    if len(figures) != 2:
        raise ModellingError(f"line {line}: {len(figures)} numbers; expected the numbers of jobs and machines")
    jobs, machines = figures
    if not jobs or not machines or jobs * machines > MAX_OPERATIONS:
        raise ModellingError(
            f"line {line}: {jobs} jobs, {machines} machines; expected 1 to {MAX_OPERATIONS:,} operations"
        )
    return jobs, machines


def _whole_numbers(line: int, words: list[str]) -> list[int]:
    for word in words:
        if not word.isascii() or not word.isdigit() or len(word) > 10:
            raise ModellingError(f"line {line}: {quoted(word)}; expected whole numbers from 0 on")
    return list(map(int, words))


def write_schedule(schedule: SchedulingModel, path: Path) -> None:
    """Write a schedule as JSON. Another ending raises ``ModellingError``."""
    if path.suffix.lower() != ".json":
        raise ModellingError(f"{plain(str(path), 200)}: expected a file that ends in .json for a schedule")
    replace_file(path, schedule_to_json(schedule))


def machines_of(schedule: SchedulingModel) -> dict[str, list[str]]:
    """Return the machines and resources of each interval."""
    places: dict[str, list[str]] = {interval.name: [] for interval in schedule.intervals}
    for machine in schedule.machines:
        for name in machine.intervals:
            places[name].append(machine.name)
    for resource in schedule.resources:
        for name in resource.demands:
            places[name].append(resource.name)
    return places


def check_plan_ending(path: Path) -> None:
    """Raise ``ModellingError`` if the ending is not one of a plan."""
    if path.suffix.lower() not in PLANS:
        raise ModellingError(
            f"{plain(str(path), 200)}: expected a file that ends in {' or '.join(PLANS)} for a schedule"
        )


def write_plan(schedule: SchedulingModel, solution: "SchedulingSolution", path: Path) -> None:
    """Write the schedule that was found: a table as ``.csv``, or all fields as ``.json``.

    Raises:
        ModellingError: No schedule was found, or the file cannot be written.
    """
    check_plan_ending(path)
    if path.suffix.lower() == ".csv" and not solution.starts:
        raise ModellingError(f"{plain(str(path), 200)} not written: the schedule is {solution.status}")
    text = _csv_text(schedule, solution) if path.suffix.lower() == ".csv" else json.dumps(plan_dict(solution), indent=1)
    try:
        replace_file(path, text)
    except OSError as problem:
        raise ModellingError(f"cannot write {plain(str(path), 200)}: {problem.strerror or problem}") from None


def plan_dict(solution: "SchedulingSolution") -> Mapping[str, object]:
    """Return the solution as plain data."""
    return {**vars(solution), "status": str(solution.status), "starts": dict(solution.starts)}


def _csv_text(schedule: SchedulingModel, solution: "SchedulingSolution") -> str:
    out, places = io.StringIO(), machines_of(schedule)
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["interval", "machines", "start", "end"])
    ends = schedule.ends(solution.starts)
    for name, start in sorted(solution.starts.items(), key=lambda entry: entry[1]):
        lines.writerow([name, "; ".join(places[name]), start, ends[name]])
    return out.getvalue()
