"""Why a model has no optimum, in sentences: the conflict of an infeasible one, the ray of an unbounded one."""

from collections.abc import Iterator

from oragent._base.errors import MilpError
from oragent.milp.conflicts import InfeasibleSubset, ModelPart, Side, conflict
from oragent.milp.elastic import nearest
from oragent.milp.model import Milp
from oragent.milp.plain import number, quoted, rounded, signed
from oragent.milp.rays import ray
from oragent.milp.remark import ModelRemark, Topic
from oragent.milp.solution import SolveStatus

TERMS = 6  # of a row that are written out
ALONE = 20  # rows of a conflict of which it is asked what each alone would need


def infeasible(milp: Milp, limit_s: float) -> Iterator[ModelRemark]:
    """Say which rows and bounds cannot hold together, and which right-hand sides would do.

    Args:
        milp: An infeasible model.
        limit_s: Seconds for the conflict, and for each question after it.
    """
    try:
        found = conflict(milp, limit_s)
    except MilpError as problem:
        yield ModelRemark(Topic.CONFLICT, "", f"Which parts cannot hold together was not found: {problem}.")
        return
    sure = "without any one of them the rest can" if found.irreducible else "one of them may be too many"
    count = "This cannot" if len(found.parts) == 1 else f"These {len(found.parts)} cannot"
    whole = ", with whole numbers where they are asked for" if milp.has_integers else ""
    yield ModelRemark(Topic.CONFLICT, "", f"{count} hold{'' if len(found.parts) == 1 else ' together'}{whole}; {sure}.")
    for part in found.parts:
        yield ModelRemark(Topic.CONFLICT, part.name, _part(milp, part))
    yield from _would_do(milp, found, limit_s)


def unbounded(milp: Milp) -> Iterator[ModelRemark]:
    """Say which variables run off, and what the objective gains on the way."""
    direction = ray(milp)
    if direction is None:
        return
    gain = sum(milp.objective.terms.get(name, 0.0) * step for name, step in direction.items())
    steps = ", ".join(f"{quoted(name)} {signed(step)}" for name, step in direction.items())
    yield ModelRemark(
        Topic.RAY, "", f"For ever in these proportions: {steps}; each time the objective changes by {signed(gain)}."
    )
    for name in direction:
        yield ModelRemark(
            Topic.RAY, name, f"No row or bound stops {quoted(name)} on that way: is a limit on it missing?"
        )


def _part(milp: Milp, part: ModelPart) -> str:
    if part.side is not Side.ROW:
        variable = milp.variable(part.name)
        low = part.side is Side.LOW
        return (
            f"{quoted(part.name)} is at {'least' if low else 'most'} {number(variable.low if low else variable.high)}."
        )
    row = milp.row(part.name)
    few = list(row.terms.items())[:TERMS]
    terms = " ".join(f"{'-' if value < 0 else '+'} {number(abs(value))} {quoted(name)}" for name, value in few)
    more = f" and {len(row.terms) - TERMS} terms more" if len(row.terms) > TERMS else ""
    return f"{quoted(part.name)}: {terms.removeprefix('+ ') or '0'}{more} {row.relation} {number(row.rhs)}."


def _would_do(milp: Milp, found: InfeasibleSubset, limit_s: float) -> Iterator[ModelRemark]:
    near = nearest(milp, limit_s=limit_s)
    if near.status is SolveStatus.INFEASIBLE:
        yield ModelRemark(Topic.NEAREST, "", "No change of right-hand sides would do: the bounds leave no point.")
        return
    if near.total is not None:
        proven = "The least total change" if near.status is SolveStatus.OPTIMAL else "A change, perhaps not the least,"
        yield ModelRemark(
            Topic.NEAREST, "", f"{proven} of right-hand sides that would do: {rounded(near.total)} in all."
        )
        for name, value in near.needed.items():
            yield ModelRemark(
                Topic.NEAREST, name, f"{quoted(name)} would have to be {milp.row(name).relation} {rounded(value)}, not "
                f"{number(milp.row(name).rhs)}."
            )  # fmt: skip
    if len(found.rows) < 2:
        return
    for name in found.rows[:ALONE]:
        alone = nearest(milp, [name], limit_s)
        if name in alone.needed:
            text = f"Alone, {quoted(name)} would have to be {milp.row(name).relation} {rounded(alone.needed[name])}."
        elif alone.status is SolveStatus.INFEASIBLE:
            text = f"Alone, no right-hand side of {quoted(name)} would do."
        else:
            continue
        yield ModelRemark(Topic.NEAREST, name, text)
