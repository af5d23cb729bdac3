"""Loops over the instances of an evaluation. They name the instances in messages and count them, also in a race."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from oragent._base.errors import ProblemError
from oragent.harness.guest import Guest
from oragent.harness.racing import Outraced

T = TypeVar("T")


def each(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, int, T]]:
    """Iterate over the instances of all sizes, and name each in messages of failures.

    With ``--instances``, only the named ones are used. In a race, sizes alternate in blocks, and values are compared
    after each block, so the last blocks may not be reached.

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
    for size, block in _plan_blocks(guest, instances, values):
        for index in block:
            guest.where = f"size {size}, instance {index}"
            if guest.race is not None:
                guest.race.attend_instance(index - _first_index(guest))
            yield size, index, instances[size][index]
            _count_instances(guest, 1)
            _print_value(guest, values[size], index)


def blocks(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, range, Sequence[T]]]:
    """Iterate over blocks of instances of one size, for ``Guest.reveal``; otherwise as ``each``.

    A block contains all instances of a size, or in a race those between two comparisons.

    Args:
        guest: The candidate.
        instances: Instances by size.
        values: Lists by size, to which the loop appends the values of a block's instances, in their order.

    Yields:
        Size, indices among the instances of that size, and the instances.
    """
    for size, block in _plan_blocks(guest, instances, values):
        guest.where = f"size {size}, instance {block[0]}"
        if len(block) > 1:
            guest.where = f"size {size}, instances {block[0]} to {block[-1]}"
        if guest.race is not None:
            guest.race.attend_instance(block[0] - _first_index(guest))
        yield size, block, instances[size][block.start : block.stop]
        _count_instances(guest, len(block))
        for index in block:
            _print_value(guest, values[size], index)


def _plan_blocks(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, range]]:
    """Yield size and indices of each block, and compare values after each step of a race."""
    first = _first_index(guest)
    at = {str(size): 0 for size in instances}
    planned = {str(size): _end_index(guest, size, of_size) - first for size, of_size in instances.items()}
    guest.done_count, guest.planned_count = 0, sum(planned.values())
    guest.values = values
    race = guest.race
    for step in [planned] if race is None else race.begin_race(planned):
        for size in instances:
            block = range(first + at[str(size)], first + step[str(size)])
            if block:
                yield size, block
        at = step
        if race is not None:
            try:
                race.check_standing(values, step)
            except Outraced as stop:
                if guest.settle is not None:
                    guest.settle(stop)
                raise


def _count_instances(guest: Guest, number: int) -> None:
    guest.done_count += number
    guest.place_counts[guest.where.partition(",")[0]] += number


def _first_index(guest: Guest) -> int:
    if guest.instance_range is None:
        return 0
    return guest.instance_range.start


def _print_value(guest: Guest, values: Sequence[float], index: int) -> None:
    """Print the value of an instance in a race, so that the log of an evaluation that ends early has it."""
    position = index - _first_index(guest)
    if guest.race is not None and position < len(values):
        size = guest.where.partition(",")[0]
        print(f"{size}, instance {index}: {values[position]:.6g}", flush=True)


def _end_index(guest: Guest, size: int, of_size: Sequence[T]) -> int:
    if guest.instance_range is None:
        return len(of_size)
    if guest.instance_range.start >= len(of_size):
        raise ProblemError(f"size {size} has no instance {guest.instance_range.start}: it has {len(of_size)}, from 0")
    return min(len(of_size), guest.instance_range.stop)
