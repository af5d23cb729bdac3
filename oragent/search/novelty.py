"""Whether a program is new enough to be worth an evaluation: the edit distance to those that are known."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from oragent.programs.inspection import inspect_program
from oragent.programs.parser_client import ParseLimitExceeded, request
from oragent.programs.similarity import may_be_near
from oragent.programs.syntax import Signature

Known = tuple[str, str]  # a program's name and its source
TOKEN = re.compile(r"\w+(?:\.\d+)?|\S")


def too_near(source: str, programs: Iterable[Known], threshold: float, signature: Signature) -> str | None:
    """Return the name of the nearest known program from which one hardly differs, of equals the first; None if new.

    ``threshold`` is the share of its tokens by which it must differ from each, in [0, 1]. Programs are compared in
    their canonical forms, so that other names, comments and formatting make no difference; in a process with limits,
    and no more of them than take some tenths of a second.
    """
    tokens, counts = _count_tokens(source, signature)
    near = []
    for name, text in programs:
        theirs, their_counts = _count_tokens(text, signature)
        if may_be_near(counts, their_counts, threshold):
            near.append((name, theirs))
    if not near:
        return None
    try:
        answer = request("nearest", tokens=tokens, candidates=[theirs for _, theirs in near], threshold=threshold)
    except ParseLimitExceeded:  # of the tokens of programs that were looked at: a comparison has a bound of its own
        return None
    index = answer.get("place")
    return near[index][0] if isinstance(index, int) and 0 <= index < len(near) else None


@lru_cache(maxsize=4096)
def _count_tokens(source: str, signature: Signature) -> tuple[tuple[str, ...], Counter[str]]:
    tokens = tuple(TOKEN.findall(inspect_program(source, signature).canonical))
    return tokens, Counter(tokens)
