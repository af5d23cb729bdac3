"""Model from the parts of an LP or MPS file."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    ModelFeatures,
    QuadraticTerm,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Sense

# Default names of objectives.
UNNAMED = re.compile(r"obj(?:ective)?|of|r0|z|_*", re.IGNORECASE)
Parts = dict[str, list[Any]]


@dataclass(frozen=True)
class FileObjective:
    """Objective of a file: its figures, and its words such as ``priority`` and ``weight``."""

    name: str
    terms: Mapping[str, float]
    constant: float
    words: Mapping[str, float]
    quadratic: tuple[QuadraticTerm[str], ...] = ()


def build_model(
    arrays: Arrays,
    column_of: Mapping[str, int],
    rows: Sequence[str],
    objectives: Sequence[FileObjective],
    parts: Parts,
) -> IndexedModel:
    """Return the model of a file. A row with two limits becomes two rows.

    Args:
        arrays: Bounds and rows. The sense is that of the file, for positive weights.
        column_of: Position of each variable by name, in order.
        rows: ``(m,)`` names of the rows.
        objectives: All objectives.
        parts: Other parts than linear rows and objectives, by field of ``ModelFeatures``.

    Raises:
        ModellingError: Two objectives are quadratic, or the parts are not those of a model.
    """
    base, sense, goals = _rank_objectives(objectives, arrays.sense)
    if any(goal.quadratic for goal in objectives if goal is not base):
        raise ModellingError("an objective other than the last one is quadratic: expected linear ones")
    cost = np.zeros(len(column_of))
    cost[[column_of[name] for name in base.terms]] = list(base.terms.values())
    fields = {field: tuple(members) for field, members in parts.items()}
    named = ModelFeatures[str](**fields, quadratic=base.quadratic, goals=goals)
    # No part of a file refers to a row.
    keyed: ModelFeatures[int] = named.rekey(column_of.__getitem__, column_of.__getitem__)
    arrays = replace(arrays, sense=sense, cost=cost, constant=base.constant, features=keyed)
    name = "" if UNNAMED.fullmatch(base.name) else base.name
    variables, limits = ([(title, "", "") for title in names] for names in (column_of, rows))
    return IndexedModel.from_arrays(arrays, variables, limits, (name, "", "")).check_figures()


def add_general(
    parts: Parts, word: str, name: str, output: str, inputs: Sequence[str], constants: Sequence[float]
) -> None:
    """Add a general constraint MIN, MAX, OR, AND or ABS to the parts by field of ``ModelFeatures``."""
    if word == "ABS" and len(inputs) == 1:
        parts["absolutes"].append(Absolute(name, inputs[0], output))
    elif word == "AND":
        parts["products"].append(BinaryProduct(name, output, tuple(inputs)))
    elif word in ("MIN", "MAX", "OR"):
        constant = (min if word == "MIN" else max)(constants) if constants else None
        parts["extremes"].append(Extreme(name, output, tuple(inputs), word != "MIN", constant))
    else:
        raise ModellingError(f"general constraint {quoted(name)}: expected {word} of one variable")


def _rank_objectives(
    objectives: Sequence[FileObjective], sense: Sense
) -> tuple[FileObjective, Sense, tuple[FurtherObjective[str], ...]]:
    """Return the objective of the lowest priority with its sense, and all others as further ones.

    A negative weight, also -0, reverses the sense of the file. Objectives with weight 0 are only computed.
    """
    for objective in objectives:
        if not all(map(math.isfinite, objective.words.values())):
            raise ModellingError(f"objective {quoted(objective.name)}: expected finite numbers after its name")

    def weight_of(goal: FileObjective) -> float:
        return goal.words.get("weight", 1.0)

    def priority_of(goal: FileObjective) -> float:
        return goal.words.get("priority", 0.0)

    def sense_of(goal: FileObjective) -> Sense:
        return sense.opposite if np.signbit(weight_of(goal)) else sense

    weighted = [goal for goal in objectives if weight_of(goal)]
    base = min(weighted or objectives, key=priority_of)

    goals = tuple(
        FurtherObjective(
            goal.name,
            {name: value for name, value in goal.terms.items() if value},
            sense_of(goal),
            goal.constant,
            # Without any weight, that of the base is 0 too.
            abs(weight_of(goal) and weight_of(goal) / weight_of(base)),
            max(0, round(priority_of(goal) - priority_of(base))),
            goal.words.get("reltol", 0.0),
            goal.words.get("abstol", 0.0),
        )
        for goal in objectives
        if goal is not base
    )
    return base, sense_of(base), goals
