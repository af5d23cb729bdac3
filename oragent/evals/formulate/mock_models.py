"""Models that need no server, by their names: ``oracle``, ``planted``, ``planted:all``, ``scripted``.

They know the gold formulations of a set; in a benchmark they show what the checks, and nothing else, can tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from oragent._base.errors import ConfigError
from oragent.evals.formulate.scripted import Error, GoldModel, errors_of, seeded
from oragent.evals.formulate.sets.labelled import Labelled, ProblemSet
from oragent.formulate.options import ALL
from oragent.llm.model import Model

BROKEN, PLANTED = 0.25, 0.5  # shares of the cases that ``scripted`` gets wrong at first: by an error, by a planted one


@dataclass(frozen=True)
class StandIn:
    """A set with a model that knows it.

    Attributes:
        cases: The set.
        model: Who is asked.
        errors: What was planted, by case.
    """

    cases: ProblemSet
    model: Model
    errors: Mapping[str, Error] = field(default_factory=dict)


def expanded(cases: ProblemSet) -> tuple[ProblemSet, dict[str, Error]]:
    """The set with every case once for each single error that can be planted in its gold formulation."""
    found: list[Labelled] = []
    errors: dict[str, Error] = {}
    for case in cases.supported:
        for place, error in enumerate(errors_of(case.gold) if case.gold is not None else ()):
            name = f"{case.problem.name}-e{place}"
            errors[name] = error
            found.append(replace(case, problem=replace(case.problem, name=name)))
    return replace(cases, cases=tuple(found), title=f"{len(found)} single errors in {cases.title}"), errors


def stand_in(name: str, cases: ProblemSet, seed: int) -> StandIn:
    """The model of that name for a set.

    Raises:
        ConfigError: A case has no gold formulation.
    """
    errors: dict[str, Error] = {}
    if name == ALL:
        cases, errors = expanded(cases)
    golds = {case.problem.name: case.gold for case in cases.supported if case.gold is not None}
    missing = [case.problem.name for case in cases.supported if case.gold is None]
    if missing:
        raise ConfigError(
            f"the model {name!r} needs gold formulations, and {cases.name} has none of {missing[0]!r}: name another "
            "--model, or another --set"
        )
    broken: frozenset[str] = frozenset()
    if name == "planted":
        errors = seeded(golds, seed)
    elif name == "scripted":
        drawn = {case: float(np.random.default_rng([seed, 1, *case.encode()]).random()) for case in golds}
        broken = frozenset(case for case, share in drawn.items() if share < BROKEN)
        errors = {
            case: error for case, error in seeded(golds, seed).items() if BROKEN <= drawn[case] < BROKEN + PLANTED
        }
    return StandIn(cases, GoldModel(golds, errors, name, broken), errors)
