"""Whether a program is new enough to be worth an evaluation: the edit distance to those that are known."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from oragent.programs.inspection import inspect
from oragent.programs.syntax import Signature

__all__ = ["Known", "distance", "too_near"]

Known = tuple[str, str]  # a program's name and its source
TOKEN = re.compile(r"\w+(?:\.\d+)?|\S")


def too_near(source: str, known: Iterable[Known], threshold: float, wanted: Signature) -> str | None:
    """Find a known program from which one hardly differs.

    Programs are compared in their canonical forms, so that other names, comments and formatting make no difference.

    Args:
        source: Text of the program; it parses.
        known: Programs to hold it against.
        threshold: Share of its tokens by which it must differ from each, in [0, 1].
        wanted: Signature of the function that evolves.

    Returns:
        The name of the nearest such program, the first of equally near ones; None where it is new enough.
    """
    tokens = _tokens(source, wanted)
    nearest: tuple[float, str] | None = None
    for name, other in known:
        found = distance(tokens, _tokens(other, wanted), threshold)
        if found < threshold and (nearest is None or found < nearest[0]):
            nearest = found, name
    return nearest and nearest[1]


def distance(first: Sequence[str], second: Sequence[str], limit: float = 1.0) -> float:
    """The edit distance of two sequences (Levenshtein 1966) over the length of the longer one.

    Args:
        first: Tokens, any.
        second: Other tokens.
        limit: Distance from which on it does not matter how large it is; a small one is fast.

    Returns:
        A share in [0, 1], exact below ``limit``; at least ``limit`` where the true one is.
    """
    longest = max(len(first), len(second), 1)
    bound = min(int(limit * longest) + 1, longest)
    differing = max((Counter(first) - Counter(second)).total(), (Counter(second) - Counter(first)).total())
    if differing >= bound:  # each of them takes an edit of its own
        return differing / longest
    far = longest + 1
    above = [column if column <= bound else far for column in range(len(second) + 1)]
    for row, token in enumerate(first, 1):
        low, high = max(1, row - bound), min(len(second), row + bound)
        line = [far] * (len(second) + 1)
        line[0] = row
        for column in range(low, high + 1):  # no path of at most ``bound`` edits leaves this band
            swap = above[column - 1] + (token != second[column - 1])
            line[column] = min(swap, above[column] + 1, line[column - 1] + 1)
        above = line
    return min(above[-1], bound) / longest


@lru_cache(maxsize=4096)
def _tokens(source: str, wanted: Signature) -> tuple[str, ...]:
    return tuple(TOKEN.findall(inspect(source, wanted).canonical))
