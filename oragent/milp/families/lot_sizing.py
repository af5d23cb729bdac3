"""Lot sizing (Wagner & Whitin 1958, doi:10.1287/mnsc.5.1.89): when to produce, with setups and storage."""

from oragent.milp.families.instance import FamilyInstance, listed, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind


def generate(seed: int, size: int = 5) -> FamilyInstance:
    """A plan over ``size`` months."""
    rng = stream(seed, size)
    months = range(1, size + 1)
    demand = [int(rng.integers(10, 80)) for _ in months]
    setup, unit, storage = int(rng.integers(80, 200)), int(rng.integers(2, 9)), int(rng.integers(1, 4))
    text = f"""
        A brewery plans {size} months. It must deliver
        {listed([f"{amount} casks in month {month}" for month, amount in zip(months, demand, strict=True)])}. In each
        month in which it brews, it pays {setup} EUR for cleaning, whatever the amount, and {unit} EUR a cask. A cask
        that is kept from one month to the next costs {storage} EUR. It starts with nothing in store, can brew any
        amount in a month, and what it brews can be delivered in the same month. What is the least total cost?"""
    total = sum(demand)
    variables = [Variable(f"brew {m}", 0, total, unit="casks") for m in months]
    variables += [Variable(f"clean {m}", 0, 1, VariableKind.INTEGER) for m in months]
    variables += [Variable(f"store {m}", unit="casks", meaning=f"kept after month {m}") for m in months]
    rows = [Row(f"cleaning {m}", {f"brew {m}": 1, f"clean {m}": -total}, Relation.AT_MOST, 0) for m in months]
    for month, amount in zip(months, demand, strict=True):
        before = {f"store {month - 1}": 1} if month > 1 else {}
        terms = {f"brew {month}": 1, f"store {month}": -1} | before
        rows.append(Row(f"balance {month}", terms, Relation.EQUAL, amount, f"deliver {amount} casks"))
    costs = {
        f"{what} {m}": price for m in months for what, price in (("clean", setup), ("brew", unit), ("store", storage))
    }
    milp = Milp(tuple(variables), tuple(rows), Objective(costs, unit="EUR"), Sense.MINIMIZE, "lot sizing")
    data = {"demand": demand, "setup": setup, "unit": unit, "storage": storage}
    return proven("lot_sizing", seed, size, text, data, milp)
