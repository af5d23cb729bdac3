"""The diet problem (Stigler 1945): the cheapest food that meets every need; a linear programme."""

from oragent.milp.families.instance import FamilyInstance, listed, names, proven, stream
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable

FOODS = "bread milk eggs rice beans potatoes cheese apples fish lentils cabbage oats food"
NUTRIENTS = "protein calcium iron fibre zinc iodine nutrient"


def generate(seed: int, size: int = 5) -> FamilyInstance:
    """A canteen with ``size`` foods and about half as many nutrients."""
    rng = stream(seed, size)
    foods, nutrients = names(FOODS, size), names(NUTRIENTS, size // 2 + 1)
    price = {food: int(rng.integers(10, 80)) for food in foods}
    most = {food: int(rng.integers(4, 10)) for food in foods}
    content = {nutrient: {food: int(rng.integers(1, 30)) for food in foods} for nutrient in nutrients}
    need = {n: int(sum(content[n][f] * most[f] for f in foods) * rng.uniform(0.2, 0.5)) for n in nutrients}
    text = f"""
        A canteen plans the cheapest daily ration from {listed(foods)}; portions may be divided. A portion costs
        {listed([f"{price[f]} cents for {f}" for f in foods])}. At most
        {listed([f"{most[f]} portions of {f}" for f in foods])} are accepted a day. A ration must hold at least
        {listed([f"{need[n]} mg of {n}" for n in nutrients])}.
        {" ".join(_holds(nutrient, content[nutrient]) for nutrient in nutrients)}
        What does the cheapest ration cost?"""
    milp = Milp(
        tuple(Variable(f, 0, most[f], unit="portions") for f in foods),
        tuple(Row(n, content[n], Relation.AT_LEAST, need[n], f"at least {need[n]} mg of {n}") for n in nutrients),
        Objective(price, unit="cents"),
        Sense.MINIMIZE,
        "diet",
    )
    return proven("diet", seed, size, text, {"price": price, "most": most, "content": content, "need": need}, milp)


def _holds(nutrient: str, content: dict[str, int]) -> str:
    return f"Of {nutrient}, a portion holds {listed([f'{mg} mg for {food}' for food, mg in content.items()])}."
