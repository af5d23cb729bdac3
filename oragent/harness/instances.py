"""The instances of an evaluation, one after the other; where it is a race, in blocks that mix the sizes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from oragent.harness.guest import Guest

T = TypeVar("T")


def each(
    guest: Guest, instances: Mapping[int, Sequence[T]], values: Mapping[int, list[float]]
) -> Iterator[tuple[int, int, T]]:
    """Go through the instances of all sizes, and tell the guest where it is.

    Where just a few are wanted (``--instances``), these are the first ones of each size. Where the evaluation is a
    race, sizes alternate in blocks, and the last of them may be never reached: the values are looked at after each
    block.

    Args:
        guest: Candidate, which is about to be asked.
        instances: Instances of each size.
        values: Lists, by size, to which whoever loops appends what each instance came to. The score is to be the mean
            over sizes of the mean over instances.

    Yields:
        Size, index among the instances of that size, and the instance.

    Raises:
        ValueError: no value was appended for an instance.
    """
    at = {str(size): 0 for size in instances}
    planned = {str(size): _number(guest, of_size) for size, of_size in instances.items()}
    guest.done, guest.planned = 0, sum(planned.values())
    race = guest.race
    for step in [planned] if race is None else race.begin(planned):
        for size, of_size in instances.items():
            for index in range(at[str(size)], step[str(size)]):
                guest.where = f"size {size}, instance {index}"
                if race is not None:
                    race.attend(index)
                yield size, index, of_size[index]
                guest.done += 1
                if race is not None and values[size]:
                    print(f"{guest.where}: {values[size][-1]:.6g}", flush=True)
        at = step
        if race is not None:
            race.look(values, step)


def _number(guest: Guest, of_size: Sequence[T]) -> int:
    return len(of_size) if guest.few is None else min(len(of_size), guest.few)
