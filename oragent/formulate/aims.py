"""Aims of a model, the most important first, and how those of a checker correspond to them."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from oragent.modelling.data.features import FurtherObjective, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution

# Relative difference up to which two values or coefficients are equal.
SAME = 1e-6
# Separators of several aims or units in one text.
SEPARATOR = re.compile(r"\s*[;,]\s*(?:then\s+)?|\s+then\s+")


@dataclass(frozen=True)
class StagedObjective:
    """Sum of the objectives of one priority."""

    name: str
    sense: Sense
    terms: Mapping[str, float] = field(hash=False)
    constant: float = 0.0
    quadratic: tuple[QuadraticTerm[str], ...] = ()
    # Amount that less important objectives may give up, or share of the optimum if that is more.
    slack: float = 0.0
    share: float = 0.0

    def at(self, point: Mapping[str, float]) -> float:
        """Return the value at a point; missing values are 0."""

        def value(name: str) -> float:
            return point.get(name, 0.0)

        linear = math.fsum(size * value(name) for name, size in self.terms.items())
        return self.constant + linear + math.fsum(term.at(value) for term in self.quadratic)

    def hold(self, name: str, value: float, tolerance: float) -> Row:
        """Return the row that keeps a linear objective from being worse than a value by more than the tolerance."""
        relation = Relation.AT_MOST if self.sense.sign > 0 else Relation.AT_LEAST
        return Row(name, self.terms, relation, value - self.constant + self.sense.sign * tolerance)

    def room(self, best: float) -> float:
        """Return the amount of an optimum that less important objectives may give up."""
        return max(self.slack, self.share * abs(best))

    @property
    def is_empty(self) -> bool:
        """Return True if no plan is better than another."""
        return not any(self.terms.values()) and not self.quadratic


@dataclass(frozen=True)
class StatedAim:
    """An aim of a checker.

    Attributes:
        value: Value at the program's solution; None without one.
        terms: Coefficients by column; None if they are not known.
        aim: Position of the corresponding objective of the program; None without one.
        is_negated: Whether that objective is the negative of this aim.
    """

    name: str
    sense: Sense
    value: float | None
    terms: Mapping[str, float] | None = field(default=None, hash=False)
    aim: int | None = None
    is_negated: bool = False


@dataclass(frozen=True)
class Aim:
    """An aim with its value at the solution.

    Attributes:
        name: The quantity to be made large or small, in the words of the problem if they are known.
        value: None without a solution.
        held_by: Row or variable by which the program held the aim in later solves; empty without one.
        slack: Amount that less important aims may give up.
        is_compared: Whether a checker states the aim, and its optimum was compared.
    """

    name: str
    sense: Sense
    value: float | None
    unit: str = ""
    held_by: str = ""
    slack: float = 0.0
    is_compared: bool = True


@dataclass(frozen=True)
class AimFacts:
    """Words of the program's author about an aim."""

    name: str = ""
    unit: str = ""
    sense: Sense | None = None


def read_stated_aim(plain: Mapping[str, Any]) -> StatedAim:
    """Read an aim of a checker from plain data."""
    return StatedAim(**{**plain, "sense": Sense(plain["sense"])})


def staged_objectives(milp: IndexedModel) -> tuple[StagedObjective, ...]:
    """Return the objectives of a model by decreasing priority; those of equal priority are summed by their weights."""
    features, goals = milp.named_features, [goal for goal in milp.named_features.goals if goal.weight]
    own = StagedObjective(
        milp.objective_record.name,
        milp.sense,
        milp.objective_record.terms,
        milp.objective_record.constant,
        features.quadratic,
    )
    stages = []
    for priority in sorted({0, *(goal.priority for goal in goals)}, reverse=True):
        members = [goal for goal in goals if goal.priority == priority]
        if priority == 0:
            stage = own
        else:
            first, *members = members
            stage = _scaled(first, first.weight)
        for goal in members:
            stage = _plus(stage, _scaled(goal, goal.weight if goal.sense is stage.sense else -goal.weight))
        stages.append(stage)
    return tuple(stage for stage in stages if not stage.is_empty) or (own,)


def _scaled(goal: FurtherObjective[str], factor: float) -> StagedObjective:
    terms = {name: factor * value for name, value in goal.terms.items()}
    return StagedObjective(
        goal.name, goal.sense, terms, factor * goal.constant, slack=goal.slack_amount, share=goal.slack
    )


def _plus(stage: StagedObjective, addend: StagedObjective) -> StagedObjective:
    terms = dict(stage.terms)
    for name, value in addend.terms.items():
        terms[name] = terms.get(name, 0.0) + value
    name = " and ".join(part for part in (stage.name, addend.name) if part)
    return replace(stage, name=name, terms=terms, constant=stage.constant + addend.constant)


def match_aims(
    objectives: Sequence[StagedObjective], point: Mapping[str, float] | None, stated: Sequence[StatedAim]
) -> tuple[StatedAim, ...]:
    """Return the aims of a checker with the corresponding objective of the program.

    Equal coefficients count first, then equal values at the solution, then the order. Several aims of a checker may be
    a weighted sum in the program; they correspond to nothing then.
    """
    matched: list[StatedAim] = list(stated)
    free = list(range(len(objectives)))
    values = [None if point is None else objective.at(point) for objective in objectives]

    def assign(is_equal: Any) -> None:
        for number, aim in enumerate(matched):
            for position in free if aim.aim is None else ():
                sign = is_equal(aim, objectives[position], values[position])
                if sign:
                    matched[number] = replace(aim, aim=position, is_negated=sign < 0)
                    free.remove(position)
                    break

    assign(_compare_terms)
    assign(_compare_values)
    if len(objectives) > 1 or len(stated) == 1:
        assign(lambda aim, objective, value: 1)
    return tuple(matched)


def _compare_terms(aim: StatedAim, objective: StagedObjective, value: float | None) -> int:
    """Return 1 or -1 if an aim is an objective, or its negative in the other direction; 0 otherwise."""
    if aim.terms is None or objective.quadratic or objective.is_empty:
        return 0
    sign = 1 if aim.sense is objective.sense else -1
    names = {name for terms in (aim.terms, objective.terms) for name, size in terms.items() if size}
    pairs = [(aim.terms.get(name, 0.0), sign * objective.terms.get(name, 0.0)) for name in names]
    return sign if all(math.isclose(first, second, rel_tol=SAME) for first, second in pairs) else 0


def _compare_values(aim: StatedAim, objective: StagedObjective, value: float | None) -> int:
    if aim.value is None or value is None:
        return 0
    sign = 1 if aim.sense is objective.sense else -1
    is_equal = abs(aim.value - sign * value) <= SAME * max(1.0, abs(value))
    # A value of 0 does not show a direction.
    return sign if is_equal and (sign > 0 or abs(value) > SAME) else 0


def read_aim_facts(parsed: Any, count: int) -> tuple[AimFacts, ...]:
    """Return the words of the program's author about each of a number of aims, the most important first.

    ``OBJECTIVE`` ("minimize: what") and ``UNIT`` are lists with an entry for each aim, or texts. A text about one aim
    is about the most important one.
    """
    if not isinstance(parsed, Mapping):
        return ()
    texts, units = (_split_texts(parsed.get(key), count) for key in ("OBJECTIVE", "UNIT"))
    facts = []
    for number in range(max(len(texts), len(units))):
        text = texts[number] if number < len(texts) else ""
        sense = next((each for each in Sense if text.lower().startswith(str(each)[:3])), None)
        name = text.partition(":")[2].strip() if sense is not None else text
        facts.append(AimFacts(name, units[number] if number < len(units) else "", sense))
    return tuple(facts)


def _split_texts(value: Any, count: int) -> list[str]:
    """Return the entries of a list, or the parts of a text if there are as many as aims."""
    items = value if isinstance(value, list) else [value]
    texts = [" ".join(str(item).split()) for item in items if isinstance(item, str | int | float)]
    if len(texts) == 1 and count > 1:
        parts = SEPARATOR.split(texts[0])
        return parts if len(parts) == count else texts
    return texts


def choose_senses(
    milp: IndexedModel, solution: Solution, stated: Sequence[StatedAim], facts: Sequence[AimFacts]
) -> list[Sense | None]:
    """Return the sense in which each aim is to be shown: that of the checker, then that of the program's author.

    The author's word counts if the value is negative, because an objective may also have the wrong sense by mistake.
    """
    negated = {aim.aim: aim.sense for aim in stated if aim.is_negated}
    matched = {aim.aim for aim in stated}
    senses: list[Sense | None] = []
    for position, objective in enumerate(staged_objectives(milp)):
        sense: Sense | None = negated.get(position, objective.sense)
        if position not in matched and position < len(facts) and solution.status.has_point:
            wanted = facts[position].sense
            if wanted is not None and objective.at(solution.values) < 0:
                sense = wanted
        senses.append(sense)
    return senses


def list_aims(
    milp: IndexedModel,
    solution: Mapping[str, Any] | None,
    facts: Sequence[AimFacts],
    stated: Sequence[StatedAim] = (),
    held: Mapping[str, str] | None = None,
    compared: int | None = None,
) -> tuple[Aim, ...]:
    """Return the aims of a model at its solution, the most important first.

    If the checker states more aims than the model has, which weights some or holds them by rows of its own, the aims
    are those of the checker.

    Args:
        milp: The model.
        solution: Plain data of its solution; None without one.
        facts: Words of the program's author about each aim.
        stated: Aims of the checker.
        held: Row that held an aim, by the name of the objective.
        compared: Number of the most important aims that were compared; None means all.
    """
    objectives = staged_objectives(milp)
    values = _values_of(objectives, solution)
    if len(stated) > len(objectives) and None not in values:
        words = [facts[number] if number < len(facts) else AimFacts() for number in range(len(stated))]
        return tuple(
            Aim(fact.name or aim.name, aim.sense, aim.value, fact.unit, is_compared=compared != 0)
            for aim, fact in zip(stated, words, strict=True)
        )
    name_of = {aim.aim: aim.name for aim in stated}
    aims = []
    for position, (objective, value) in enumerate(zip(objectives, values, strict=True)):
        fact = facts[position] if position < len(facts) else AimFacts()
        name = fact.name or name_of.get(position) or objective.name or f"aim {position + 1}"
        is_compared = compared is None or position < compared
        held_by = (held or {}).get(objective.name, "")
        aims.append(Aim(name, objective.sense, value, fact.unit, held_by, objective.slack, is_compared))
    return tuple(aims)


def _values_of(objectives: Sequence[StagedObjective], solution: Mapping[str, Any] | None) -> list[float | None]:
    """Return the values of the objectives of a model; None without a point."""
    if solution is None or solution["objective"] is None:
        return [None] * len(objectives)
    if len(objectives) == 1:
        # With the penalties of soft rows.
        return [solution["objective"]]
    return [objective.at(solution["values"]) for objective in objectives]


def direct_objectives(milp: IndexedModel, senses: Sequence[Sense | None] = ()) -> IndexedModel:
    """Return a model whose objectives are turned into the direction in which people speak of them.

    ``maximize -km`` becomes ``minimize km``. Without a given sense, an objective is turned if it can only be negative.

    Args:
        milp: The model.
        senses: Sense of each aim, the most important first; None leaves the choice to the signs of the coefficients.
    """
    low = {variable.name: variable.low for variable in milp.variable_records}
    priorities = sorted({0, *(goal.priority for goal in milp.named_features.goals if goal.weight)}, reverse=True)
    given = dict(zip(priorities, senses, strict=False)) if senses else {}

    def is_turned(terms: Mapping[str, float], constant: float, sense: Sense, priority: int) -> bool:
        wanted = given.get(priority)
        if wanted is not None:
            return wanted is not sense
        used = [(name, value) for name, value in terms.items() if value]
        return bool(used) and constant <= 0 and all(value < 0 and low.get(name, -1.0) >= 0 for name, value in used)

    counts = [
        sum(goal.priority == priority for goal in milp.named_features.goals if goal.weight) for priority in priorities
    ]
    goals = []
    for goal in milp.named_features.goals:
        is_single = counts[priorities.index(goal.priority)] == 1 and goal.priority != 0 if goal.weight else False
        if is_single and is_turned(goal.terms, goal.constant, goal.sense, goal.priority):
            terms = {name: -value for name, value in goal.terms.items()}
            goal = replace(goal, terms=terms, constant=0.0 - goal.constant, sense=goal.sense.opposite)
        goals.append(goal)
    features = replace(milp.named_features, goals=tuple(goals))
    own = milp.objective_record
    is_alone = not any(goal.weight and goal.priority == 0 for goal in goals) and not features.quadratic
    if is_alone and is_turned(own.terms, own.constant, milp.sense, 0):
        turned = Objective({name: -value for name, value in own.terms.items()}, 0.0 - own.constant)
        own = replace(own, terms=turned.terms, constant=turned.constant)
        return milp.with_records(objective=own, sense=milp.sense.opposite, features=features)
    return milp.with_records(features=features)


def direct_solution(milp: IndexedModel, directed: IndexedModel, solution: Solution) -> Solution:
    """Return the solution of a model for the same model with turned objectives."""
    goals = {goal.name: goal.at(lambda name: solution.values.get(name, 0.0)) for goal in directed.named_features.goals}
    solution = replace(solution, goals=goals if solution.goals else {})
    if milp.sense is directed.sense:
        return solution
    objective, bound = (None if value is None else 0.0 - value for value in (solution.objective, solution.bound))
    return replace(solution, objective=objective, bound=bound)
