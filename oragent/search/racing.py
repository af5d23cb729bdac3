"""Races of a run: what a candidate is held against by the archive that its round sees, and under which name it is kept.

That a program was ended early says something of it and of the terms that held, so the terms are part of the name. How a
race ends is a function of the terms and of what the instances come to: a program that another round has measured to its
end is not evaluated again, and still ends as it would have ended.
"""

from dataclasses import replace

from oragent._base.protocol import Status
from oragent._base.racing import BEHAVIOUR, RaceStop, RaceTerms, read_instance_values
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive


def terms_of(archive: Archive, length: int, quantile: float | None, probes: int) -> RaceTerms:
    """Return the terms of the race that a candidate enters, by the archive as its round sees it.

    ``length`` are the nodes of its syntax tree: a shorter twin of an elite is scored, as it may take its cell. It must
    be able to come up to the elites' ``quantile`` (None: to none), and on ``probes`` instances of each size its answers
    are held against theirs.
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
    """The result that a fully evaluated program would have had in a race; None where nothing tells: it is to be run."""
    values = read_instance_values(full.metrics)
    if full.status is not Status.OK or values is None or (terms.probes and BEHAVIOUR not in full.metrics):
        return None
    ended = terms.replay_race(values, str(full.metrics.get(BEHAVIOUR, "")))
    return full if ended is None else _end_in_race(full, ended)


def _end_in_race(full: Evaluation, ended: RaceStop) -> Evaluation:
    return replace(
        full, status=Status.SCREENED, score=None, features=None, metrics=ended.metrics, message=ended.reason, output=""
    )
