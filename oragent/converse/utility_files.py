"""A set of utilities as a file, so that two evaluations can use the same one."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent.converse.generating import Target
from oragent.converse.problems.enumeration import Schedules
from oragent.converse.problems.names import find_school, quoted, unknown_school
from oragent.converse.utilities import Direction, Utility
from oragent.errors import ConfigError, StoreError

__all__ = ["SCHEMA", "UtilitySet", "read", "write"]

SCHEMA = 1
LARGEST = 10_000_000  # bytes


@dataclass(frozen=True)
class UtilitySet:
    """What a file of utilities holds.

    Attributes:
        targets: Utilities in the order of the file, each with its first maximiser.
        warnings: One line for each that cannot do all that a utility should.
    """

    targets: tuple[Target, ...]
    warnings: tuple[str, ...]


def write(path: Path, schedules: Schedules, targets: Iterable[Target], made: str) -> None:
    """Write utilities as JSON, schools by name.

    Args:
        path: Path of the file to write; an older one is replaced.
        schedules: Schedules of the district.
        targets: Utilities to write.
        made: Note on how they were made, for people: procedure and seed.

    Raises:
        StoreError: it cannot be written.
    """
    district = schedules.district
    utilities = [
        {
            "school": district.schools[target.utility.school].name,
            "direction": target.utility.direction,
            "load": target.utility.load,
            "deviation": target.utility.deviation,
            "weights": target.utility.weights,
            "optimum": target.optimum,
        }
        for target in targets
    ]
    rows = ",\n  ".join(json.dumps(utility, ensure_ascii=False) for utility in utilities)
    head = json.dumps({"schema": SCHEMA, "problem": district.name, "made": made}, ensure_ascii=False)[1:-1]
    try:
        path.write_text(f'{{{head}, "utilities": [\n  {rows}\n]}}\n', encoding="utf-8")
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem.strerror}") from None


def read(path: Path, schedules: Schedules) -> UtilitySet:
    """Read utilities from a file of ours, or from a plain list of records.

    A record of such a list has ``school`` (its position, from 0), ``early``, ``L``, ``R``, ``w`` and ``schedule``.

    Raises:
        StoreError: the file cannot be read.
        ConfigError: it is no such file; names the utility and what is wrong with it.
    """
    tree = _loaded(path)
    records = _records(path, tree, schedules.district.name)
    targets, warnings = [], []
    for number, record in enumerate(records, 1):
        try:
            utility, optimum = _utility(record, schedules)
        except ConfigError as problem:
            raise ConfigError(f"{path}, utility {number}: {problem}") from None
        maximisers = utility.maximisers(schedules)
        targets.append(Target(utility, schedules.letters(int(maximisers[0]))))
        found = [schedules.letters(int(index)) for index in maximisers[:2]]
        warnings += [f"{path}, utility {number}: {line}" for line in _doubts(utility, optimum, found, schedules)]
    return UtilitySet(tuple(targets), tuple(warnings))


def _loaded(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST // 10**6} MB: expected a file of utilities")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise StoreError(f"cannot read {path}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is no JSON: expected a file that `oragent converse utilities` wrote") from None


def _records(path: Path, tree: Any, problem: str) -> list[dict[str, Any]]:
    if isinstance(tree, dict):
        if tree.get("schema") != SCHEMA:
            raise ConfigError(f"{path} has schema {tree.get('schema')!r:.40}; expected {SCHEMA}: write the file anew")
        if tree.get("problem") != problem:
            raise ConfigError(f"{path} is for problem {tree.get('problem')!r:.40}, not {problem!r}")
        tree = tree.get("utilities")
    if not isinstance(tree, list) or not tree or not all(isinstance(one, dict) for one in tree):
        raise ConfigError(f"{path} must hold a list of utilities, at least one")
    return tree


def _utility(record: dict[str, Any], schedules: Schedules) -> tuple[Utility, str | None]:
    """The utility of a record, and the schedule that the record says is best."""
    listed = "early" in record
    load, deviation, weights = (record.get(key) for key in (("L", "R", "w") if listed else _KEYS))
    if not _is_number(load) or not _is_number(deviation):
        raise ConfigError(f"load and deviation must be numbers, not {load!r:.40} and {deviation!r:.40}")
    if not isinstance(weights, list) or not all(map(_is_number, weights)):
        raise ConfigError(f"weights must be three numbers, not {weights!r:.60}")
    if listed:
        school, direction = _position(record.get("school"), schedules), _early(record["early"])
        optimum = record.get("schedule")
    else:
        school, direction = _named(record.get("school"), schedules), _direction(record.get("direction"))
        optimum = record.get("optimum")
    # Three weights or another number of them: the utility itself says which it expected.
    utility = Utility(school, direction, float(load), float(deviation), tuple(weights))  # type: ignore[arg-type]
    return utility, optimum if isinstance(optimum, str) else None


_KEYS = ("load", "deviation", "weights")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _position(value: Any, schedules: Schedules) -> int:
    last = len(schedules.district.schools) - 1
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= last:
        raise ConfigError(f"unknown school {value!r:.40}; expected its position, 0 to {last}")
    return value


def _named(value: Any, schedules: Schedules) -> int:
    name = value if isinstance(value, str) else repr(value)
    found = find_school(schedules.district, name)
    if found is None:
        raise ConfigError(unknown_school(schedules.district, name))
    return found


def _early(value: Any) -> Direction:
    if not isinstance(value, bool):
        raise ConfigError(f"early must be true or false, not {value!r:.40}")
    return Direction.EARLY if value else Direction.LATE


def _direction(value: Any) -> Direction:
    if value not in list(Direction):
        raise ConfigError(f"direction must be early or late, not {value!r:.40}")
    return Direction(value)


def _doubts(utility: Utility, optimum: str | None, found: list[str], schedules: Schedules) -> Iterator[str]:
    """What a utility cannot do; of its maximisers the first two are enough to know."""
    least_load, least_deviation = schedules.load.min(), schedules.deviation.min()
    if utility.load < least_load:
        yield f"no schedule reaches load {utility.load:g}; the least is {least_load:,}"
    if utility.deviation < least_deviation:
        yield f"no schedule reaches deviation {utility.deviation:g}; the least is {least_deviation:g}"
    if len(found) > 1:
        yield f"no unique maximum: {' and '.join(found)} are equally good"
    elif optimum not in (None, found[0]):
        yield f"the best schedule is {found[0]}, not {quoted(str(optimum))}"
