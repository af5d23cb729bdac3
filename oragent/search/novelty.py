"""Whether a program is new enough to be worth an evaluation: the edit distance to those that are known."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from oragent.programs.examiner import Hopeless, ask
from oragent.programs.inspection import inspect
from oragent.programs.nearness import may_be_near
from oragent.programs.syntax import Signature

Known = tuple[str, str]  # a program's name and its source
TOKEN = re.compile(r"\w+(?:\.\d+)?|\S")


def too_near(source: str, known: Iterable[Known], threshold: float, wanted: Signature) -> str | None:
    """Find a known program from which one hardly differs.

    Programs are compared in their canonical forms, so that other names, comments and formatting make no difference; in
    a process with limits, and no more of them than take some tenths of a second.

    Args:
        source: Text of the program; it parses.
        known: Programs to hold it against.
        threshold: Share of its tokens by which it must differ from each, in [0, 1].
        wanted: Signature of the function that evolves.

    Returns:
        The name of the nearest such program, the first of equally near ones; None where it is new enough.
    """
    tokens, counts = _tokens(source, wanted)
    near = []
    for name, other in known:
        theirs, their_counts = _tokens(other, wanted)
        if may_be_near(counts, their_counts, threshold):
            near.append((name, theirs))
    if not near:
        return None
    try:
        answer = ask("nearest", tokens=tokens, known=[theirs for _, theirs in near], threshold=threshold)
    except Hopeless:  # of the tokens of programs that were looked at: a comparison has a bound of its own
        return None
    place = answer.get("place")
    return near[place][0] if isinstance(place, int) and 0 <= place < len(near) else None


@lru_cache(maxsize=4096)
def _tokens(source: str, wanted: Signature) -> tuple[tuple[str, ...], Counter[str]]:
    tokens = tuple(TOKEN.findall(inspect(source, wanted).canonical))
    return tokens, Counter(tokens)
