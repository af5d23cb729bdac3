"""Solvers of HiGHS as they are made: ahead where processes are forked, and without what small models do not need."""

import os
from contextlib import suppress
from typing import Any

import highspy

JUMP = "mip_heuristic_run_feasibility_jump"  # an option of HiGHS, on by default
SMALL = 100  # variables: up to there branching alone takes a millisecond or two, and the jump ten
_AHEAD: list[Any] = []  # to be used once each


def engine() -> Any:
    """A solver that nobody has used, which prints nothing and starts no thread."""
    with suppress(IndexError):
        return _AHEAD.pop()
    return _made()


def make_ahead(count: int) -> None:
    """Make solvers in a process that forks others: each takes its own, which is half the cost of a small solve."""
    _AHEAD.extend(_made() for _ in range(count))


def jumps(variables: int) -> bool:
    """Whether to look for a first point by feasibility jump (Luteberget & Sartor 2023, doi:10.1007/s12532-023-00234-8).

    Args:
        variables: Number of the model's variables.
    """
    return variables > SMALL


def _greeted() -> Any:
    """The first solver of a process: from 1.16 on HiGHS prints a banner on standard output as it is made.

    Standard output is where children answer, so it leads nowhere for that moment.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        kept = os.dup(1)
    except OSError:  # closed: nothing can be printed
        os.close(nowhere)
        return highspy.Highs()
    os.dup2(nowhere, 1)
    try:
        return highspy.Highs()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


VERSION: str = _greeted().version()


def _made() -> Any:
    made = highspy.Highs()
    made.setOptionValue("output_flag", False)
    made.setOptionValue("threads", 1)  # where no thread can be started, more than one fails without a word
    return made
