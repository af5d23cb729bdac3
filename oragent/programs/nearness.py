"""How much two texts differ, token by token, at a cost that is bounded whatever they are."""

from collections import Counter
from collections.abc import Sequence

MOST_WORK = 10_000_000  # steps of 64 tokens each in all comparisons of a program: some tenths of a second
_SETUP = 10  # steps that a token takes besides


def nearest(tokens: Sequence[str], known: Sequence[Sequence[str]], threshold: float) -> int | None:
    """Find the text from which one differs least.

    Args:
        tokens: Tokens of the text.
        known: Tokens of the others. Those that come when ``MOST_WORK`` is done are not looked at.
        threshold: Distance from which on a text is another one.

    Returns:
        The place of the nearest one below ``threshold``, the first of equally near ones; None where there is none.
    """
    best: tuple[float, int] | None = None
    work = 0
    for place, other in enumerate(known):
        work += min(len(tokens), len(other)) * (max(len(tokens), len(other)) // 64 + _SETUP)
        if work > MOST_WORK:
            break
        found = distance(tokens, other)
        if found < threshold and (best is None or found < best[0]):
            best = found, place
    return best and best[1]


def may_be_near(first: Counter[str], second: Counter[str], threshold: float) -> bool:
    """Whether two texts can differ by less than a threshold, by their tokens' numbers alone."""
    longest = max(first.total(), second.total(), 1)
    bound = min(int(threshold * longest) + 1, longest)
    return max((first - second).total(), (second - first).total()) < bound  # each of these takes an edit of its own


def distance(first: Sequence[str], second: Sequence[str]) -> float:
    """The edit distance of two sequences (Levenshtein 1966) over the length of the longer one, in [0, 1].

    A column of the table is two numbers whose bits say where it goes up and where down, and a step is some operations
    on them (Myers 1999, doi:10.1145/316542.316550, as Hyyrö 2003 has it for the whole distance): Python's numbers have
    as many bits as it takes, so thirty thousand tokens take half a second.
    """
    if len(first) < len(second):
        first, second = second, first
    rows = len(first)
    if not second:
        return 1.0 if rows else 0.0
    places: dict[str, int] = {}
    for row, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << row
    whole, last = (1 << rows) - 1, 1 << rows - 1
    up, down, found = whole, 0, rows
    for token in second:
        same = places.get(token, 0)
        across = same | down
        same |= ((same & up) + up) ^ up
        right = down | ~(same | up) & whole
        left = up & same
        if right & last:
            found += 1
        elif left & last:
            found -= 1
        right = (right << 1 | 1) & whole
        left = left << 1 & whole
        up = left | ~(across | right) & whole
        down = right & across
    return found / rows
