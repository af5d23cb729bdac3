"""Cutting stock (Gilmore & Gomory 1961, doi:10.1287/opre.9.6.849): the fewest rolls, by all maximal patterns."""

from collections.abc import Iterator, Sequence

from oragent.milp.families.instance import FamilyInstance, listed, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

ROLL = 100  # cm


def generate(seed: int, size: int = 3) -> FamilyInstance:
    """``size`` widths to be cut from rolls of one width."""
    rng = stream(seed, size)
    widths = sorted((int(width) for width in rng.choice(range(18, 70), size, replace=False)), reverse=True)
    demand = [int(rng.integers(3, 8)) for _ in widths]
    pieces = [f"{count} pieces of {width} cm" for count, width in zip(demand, widths, strict=True)]
    text = f"""
        A paper mill cuts rolls that are {ROLL} cm wide into narrower ones. It must deliver at least {listed(pieces)}.
        What is left of a roll is waste. How many rolls does it need at the least?"""
    patterns = list(_maximal(ROLL, widths))
    columns = {pattern: _name(pattern, widths) for pattern in patterns}
    rows = tuple(
        Row(f"{width} cm", {columns[p]: p[place] for p in patterns if p[place]}, Relation.AT_LEAST, demand[place])
        for place, width in enumerate(widths)
    )
    milp = Milp(
        tuple(Variable(name, kind=VariableKind.INTEGER, unit="rolls") for name in columns.values()),
        rows,
        Objective(dict.fromkeys(columns.values(), 1), unit="rolls"),
        Sense.MINIMIZE,
        "cutting stock",
    )
    return proven("cutting_stock", seed, size, text, {"roll": ROLL, "widths": widths, "demand": demand}, milp)


def _maximal(room: int, widths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Patterns of one roll to which no piece can be added; widths fall."""
    if len(widths) == 1:
        yield (room // widths[0],)
        return
    for count in range(room // widths[0], -1, -1):
        left = room - count * widths[0]
        for rest in _maximal(left, widths[1:]):
            waste = left - sum(number * width for number, width in zip(rest, widths[1:], strict=True))
            if waste < widths[0]:
                yield (count, *rest)


def _name(pattern: tuple[int, ...], widths: Sequence[int]) -> str:
    return " + ".join(f"{count} x {width}" for count, width in zip(pattern, widths, strict=True) if count)
