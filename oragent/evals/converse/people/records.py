"""A utility of somebody at a school as a record, and what is doubtful about one. Records are not trusted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oragent._base.errors import ConfigError
from oragent.converse.problems.district import District, find_school, quote_text, unknown_school
from oragent.converse.problems.exact import Schedules
from oragent.evals.converse.people.utilities import TimePreference, Utility

KEYS, LISTED_KEYS = ("load", "deviation", "weights"), ("L", "R", "w")


def utility_record(utility: Utility, district: District, optimum: str) -> dict[str, Any]:
    """A utility as JSON has it, its school by name."""
    return {
        "school": district.schools[utility.school].name,
        "direction": utility.direction,
        "load": utility.load,
        "deviation": utility.deviation,
        "weights": utility.weights,
        "optimum": optimum,
    }


def read_utility(record: Mapping[str, Any], district: District) -> tuple[Utility, str | None]:
    """The utility of a record, and the schedule that the record says is best; None where it says none.

    A record of ours names its school. One of a plain list has ``school`` (its position, from 0), ``early``, ``L``,
    ``R``, ``w`` and ``schedule``.

    Raises:
        ConfigError: It is of no utility.
    """
    listed = "early" in record
    load, deviation, weights = (record.get(key) for key in (LISTED_KEYS if listed else KEYS))
    if not _is_number(load) or not _is_number(deviation):
        raise ConfigError(f"load and deviation must be numbers, not {load!r:.40} and {deviation!r:.40}")
    if not isinstance(weights, list) or not all(map(_is_number, weights)):
        raise ConfigError(f"weights must be three numbers, not {weights!r:.60}")
    if listed:
        school, direction = _school_position(record.get("school"), district), _is_early(record["early"])
        optimum = record.get("schedule")
    else:
        school, direction = _named_school(record.get("school"), district), _read_direction(record.get("direction"))
        optimum = record.get("optimum")
    # Three weights or another number of them: the utility itself says which it expected.
    result = Utility(school, direction, float(load), float(deviation), tuple(weights))  # type: ignore[arg-type]
    return result, optimum if isinstance(optimum, str) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _school_position(value: Any, district: District) -> int:
    last = len(district.schools) - 1
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= last:
        raise ConfigError(f"unknown school {value!r:.40}; expected its position, 0 to {last}")
    return value


def _named_school(value: Any, district: District) -> int:
    name = value if isinstance(value, str) else repr(value)
    position = find_school(district, name)
    if position is None:
        raise ConfigError(unknown_school(district, name))
    return position


def _is_early(value: Any) -> TimePreference:
    if not isinstance(value, bool):
        raise ConfigError(f"early must be true or false, not {value!r:.40}")
    return TimePreference.EARLY if value else TimePreference.LATE


def _read_direction(value: Any) -> TimePreference:
    if value not in list(TimePreference):
        raise ConfigError(f"direction must be early or late, not {value!r:.40}")
    return TimePreference(value)


def find_doubts(utility: Utility, optimum: str | None, best: Sequence[str], schedules: Schedules) -> Iterator[str]:
    """List what a utility cannot reach, one line each.

    Args:
        utility: Utility that is doubted.
        optimum: Schedule that its record says is best; None where it says none.
        best: First two of its maximisers: enough to know.
        schedules: All schedules of the district.
    """
    least_load, least_deviation = schedules.load.min(), schedules.deviation.min()
    if utility.load < least_load:
        yield f"no schedule reaches load {utility.load:g}; the least is {least_load:,}"
    if utility.deviation < least_deviation:
        yield f"no schedule reaches deviation {utility.deviation:g}; the least is {least_deviation:g}"
    if len(best) > 1:
        yield f"no unique maximum: {' and '.join(best)} are equally good"
    elif optimum not in (None, best[0]):
        yield f"the best schedule is {best[0]}, not {quote_text(str(optimum))}"
