"""Iterate over the instances of an evaluation; in a race, in blocks that mix the sizes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from oragent._base.errors import ProblemError
from oragent.harness.guest import Guest

T = TypeVar("T")


def each(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, int, T]]:
    """Iterate over the instances of all sizes, and name each in messages of failures.

    With ``--instances`` only those are used. In a race, sizes alternate in blocks, and values are compared after each
    block, so the last blocks may not be reached.

    Args:
        guest: The candidate.
        instances: Instances by size.
        values: Lists by size, to which the loop appends the value of each instance. The score must be the mean over
            sizes of the mean over instances.

    Yields:
        Size, index among the instances of that size, and the instance.

    Raises:
        ValueError: No value was appended for an instance.
        ProblemError: A size has none of the requested instances.
    """
    first = guest.instance_range.start if guest.instance_range is not None else 0
    at = {str(size): 0 for size in instances}
    planned = {str(size): _end_index(guest, size, of_size) - first for size, of_size in instances.items()}
    guest.done_count, guest.planned_count = 0, sum(planned.values())
    race = guest.race
    for step in [planned] if race is None else race.begin_race(planned):
        for size, of_size in instances.items():
            for index in range(at[str(size)], step[str(size)]):
                guest.where = f"size {size}, instance {first + index}"
                if race is not None:
                    race.attend_instance(index)
                yield size, first + index, of_size[first + index]
                guest.done_count += 1
                if race is not None and values[size]:
                    print(f"{guest.where}: {values[size][-1]:.6g}", flush=True)
        at = step
        if race is not None:
            race.check_standing(values, step)


def _end_index(guest: Guest, size: int, of_size: Sequence[T]) -> int:
    """Index behind the last instance of a size."""
    if guest.instance_range is None:
        return len(of_size)
    if guest.instance_range.start >= len(of_size):
        raise ProblemError(f"size {size} has no instance {guest.instance_range.start}: it has {len(of_size)}, from 0")
    return min(len(of_size), guest.instance_range.stop)
