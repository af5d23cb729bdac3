"""Reasons to skip a full evaluation: the program nearly equals another one, or it cannot win a race.

The early end of a race depends on the program and on the terms, so the terms are part of the key of the result. Given
the terms, it depends only on the results of the instances. If another round has the full result of a program, the end
of its race is therefore computed without another evaluation.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from oragent._base.protocol import Status
from oragent._base.racing import BEHAVIOUR, RaceTerms, read_instance_values
from oragent.evaluation import Evaluation
from oragent.programs.inspection import inspect_program
from oragent.programs.parser_client import ParseLimitExceeded, request
from oragent.programs.similarity import may_be_near
from oragent.programs.syntax import Signature
from oragent.search.archive import Archive

# Name and source of a program.
Known = tuple[str, str]
TOKEN = re.compile(r"\w+(?:\.\d+)?|\S")


def too_near(source: str, programs: Iterable[Known], threshold: float, signature: Signature) -> str | None:
    """Return the name of the nearest known program if it nearly equals this one, the first of equals; else None.

    ``threshold`` is the share of its tokens by which it must differ from each, in [0, 1]. Canonical forms are compared,
    so that names, comments and formatting do not matter. The comparison runs in a process with limits, and the number
    of compared programs is limited so that it takes some tenths of a second.
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
    except ParseLimitExceeded:
        # The comparison of checked programs exceeded its own limit.
        return None
    index = answer.get("place")
    if isinstance(index, int) and 0 <= index < len(near):
        return near[index][0]
    return None


@lru_cache(maxsize=4096)
def _count_tokens(source: str, signature: Signature) -> tuple[tuple[str, ...], Counter[str]]:
    tokens = tuple(TOKEN.findall(inspect_program(source, signature).canonical))
    return tokens, Counter(tokens)


def terms_of(archive: Archive, length: int, quantile: float | None, probes: int) -> RaceTerms:
    """Return the terms of the race that a candidate enters, from the archive of its round.

    ``length`` is the number of nodes of its syntax tree. A shorter twin of an elite is scored, because it may take its
    cell. The candidate must be able to reach the ``quantile`` of the elites (None means no bound). On ``probes``
    instances of each size, its answers are compared with theirs.
    """
    elites = archive.elites()
    measured = (
        [values for elite in elites if (values := read_instance_values(elite.metrics))] if quantile is not None else []
    )
    bar = measured[round((1 - (quantile or 0.0)) * (len(measured) - 1))] if measured else None
    by_behaviour = ((elite.metrics.get(BEHAVIOUR), elite) for elite in elites) if probes else ()
    twins = {behaviour for behaviour, elite in by_behaviour if isinstance(behaviour, str) and elite.length <= length}
    return RaceTerms(archive.direction, bar, probes, frozenset(twins))


def race_result(full: Evaluation, terms: RaceTerms) -> Evaluation | None:
    """Return the result that a fully evaluated program would have in a race; None if the race must be run."""
    values = read_instance_values(full.metrics)
    if full.status is not Status.OK or values is None or (terms.probes and BEHAVIOUR not in full.metrics):
        return None
    ended = terms.replay_race(values, str(full.metrics.get(BEHAVIOUR, "")))
    if ended is None:
        return full
    return replace(
        full, status=Status.SCREENED, score=None, features=None, metrics=ended.metrics, message=ended.reason, output=""
    )
