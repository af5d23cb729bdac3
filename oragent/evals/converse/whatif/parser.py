"""What-if questions read by rules: the entities that a sentence names, and what it does with them."""

import re
from collections.abc import Callable, Iterable

from oragent.evals.converse.whatif.questions import Question
from oragent.evals.converse.whatif.textbooks import COFFEE, FOODS, NETFLOW, Key, WhatIfChange
from oragent.milp import Relation, Row

PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?(?:%|percent)")
NUMBER = re.compile(r"(?<![\w.])\$?(\d+(?:\.\d+)?)(?![\w.]*%|\d)")
HALF = re.compile(r"\b(?:half|halv\w+|50\s?%|50 percent|fifty percent)", re.IGNORECASE)
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
         "eleven": 11, "twelve": 12, "a single": 1, "couple": 2, "dozen": 12}  # fmt: skip
BOTH_WAYS = re.compile(
    r"\b(?:exclusiv\w+ (?:relation|partner|arrange|agree|deal|suppl|trad)\w*|relationship|partnership|between|"
    r"mutual\w*|convers\w+|reciprocal|vice versa|purchas\w+|buy\w*|sell\w*|sales|sourc\w+)\b",
    re.IGNORECASE,
)
AGAINST = re.compile(
    r"\b(?:not|never|avoid\w*|refrain\w*|prevent\w*|stop\w*|discourag\w+|against|why don|bad|unwise|impractical|"
    r"inadvisable|unadvisable|unfavou?rable|undesirable|unsuitable|inappropriate|negative\w*|hindranc\w+|hinder\w*|"
    r"drawback\w*|downside\w*|disadvantag\w+|obstacle\w*|barrier\w*|issue\w*|problem\w*|restrict\w*|limit\w*|"
    r"challeng\w+|consequence\w*|caution\w*|concern\w*|risk\w*|(?:should|is|do|are|ca|could|would)n['’]t)\b",
    re.IGNORECASE,
)
EXTRA = re.compile(
    r"\b(?:extra|more|additional\w*|supplementa\w+|add|added|another|further|increase\w*)\b", re.IGNORECASE
)
COST = re.compile(r"\b(?:cost\w*|price\w*|rate|charge\w*|expense\w*|fee\w*|expenditure)\b|\$", re.IGNORECASE)
SYNONYMS = {
    "hot dog": r"hot ?dogs?|frankfurters?|sausages?", "fries": r"fries|french fr\w+|fried potato\w*|chips",
    "ice cream": r"ice ?creams?", "macaroni": r"macaronis?|pasta|mac and cheese|mac", "chicken": r"chickens?|poultry",
    "milk": r"milks?|dairy", "salad": r"salads?|greens", "pizza": r"pizzas?", "hamburger": r"hamburgers?|burgers?",
}  # fmt: skip


def read_change(question: Question) -> WhatIfChange | None:
    """Read the change of a question from its words alone; None if it is not understood."""
    text = " ".join(question.text.split())
    return {"coffee": _parse_coffee, "netflow": _parse_netflow, "diet": _parse_diet}[question.model](text)


def _parse_coffee(text: str) -> WhatIfChange | None:
    suppliers, roasteries, cafes = (_numbered_names(kind, text) for kind in ("supplier", "roastery", "cafe"))
    roasteries = roasteries or _numbered_names("roaster", text, "roastery")
    if suppliers and roasteries:
        if COST.search(text) and (number := _find_number(_without_names(text))) is not None:
            return _change_data("shipping_cost_from_supplier_to_roastery", (suppliers[0], roasteries[0]), number)
        return WhatIfChange(rows=_zero_rows([f"x[{suppliers[0]},{roasteries[0]}]"]))
    if suppliers and HALF.search(text):
        capacity = COFFEE["capacity_in_supplier"][suppliers[0],]
        return _change_data("capacity_in_supplier", (suppliers[0],), capacity / 2)
    if cafes and roasteries:
        return _exclusive_rows(roasteries[0], cafes[0], both=bool(BOTH_WAYS.search(text)))
    share = PERCENT.search(text)
    if cafes and share:
        kinds = ["light"] if re.search(r"\blight\b", text, re.IGNORECASE) else ["light", "dark"]
        tables = [f"{kind}_coffee_needed_for_cafe" for kind in kinds]
        return WhatIfChange(
            {(name, (cafes[0],)): COFFEE[name][cafes[0],] * (1 + float(share[1]) / 100) for name in tables}
        )
    return None


def _exclusive_rows(roastery: str, cafe: str, *, both: bool) -> WhatIfChange:
    """A roastery sells to one cafe alone; with ``both`` the cafe buys there alone, too."""
    arcs = [arc for arc in COFFEE["shipping_cost_from_roastery_to_cafe"] if (arc[0] == roastery) != (arc[1] == cafe)]
    shut = [arc for arc in arcs if both or arc[0] == roastery]
    return WhatIfChange(rows=_zero_rows(f"y_{kind}[{arc[0]},{arc[1]}]" for kind in ("light", "dark") for arc in shut))


def _parse_netflow(text: str) -> WhatIfChange | None:
    cities = _in_order(text, {key[1]: re.escape(key[1]) for key in NETFLOW["inflow"]})
    goods = _in_order(text, {"Pencils": r"pencils?", "Pens": r"pens?"})
    if goods and len(cities) >= 2:
        start, end = _shipment_ends(text, cities)
        number = _find_number(text)
        if number is not None and (COST.search(text) or "$" in text or "dollar" in text.casefold()):
            return _change_data("cost", (goods[0], start, end), number)
        name = f"flow[{goods[0]},{start},{end}]"
        if (start, end) not in NETFLOW["capacity"]:
            return WhatIfChange()
        value = 1.0 if AGAINST.search(text) else 0.0
        return WhatIfChange(rows=(Row("row", {name: 1.0}, Relation.EQUAL, value),))
    if cities and HALF.search(text):
        return _change_costs(lambda key: key[1] == cities[0], lambda cost: cost / 2)
    number = _find_number(text)
    if cities and number is not None:
        return _change_costs(lambda key: key[2] == cities[0], lambda cost: cost + number)
    return None


def _parse_diet(text: str) -> WhatIfChange | None:
    foods = _in_order(text, {food: SYNONYMS.get(food, re.escape(food)) for food in FOODS})
    if not foods:
        return None
    number = _find_number(text)
    if number is None:
        return WhatIfChange(rows=_zero_rows([f"buy[{foods[0]}]"]))
    if EXTRA.search(text):
        return WhatIfChange(rows=(Row("row", {f"buy[{foods[0]}]": 1.0}, Relation.AT_LEAST, number),))
    return WhatIfChange(rows=(Row("row", {f"buy[{foods[0]}]": 1.0}, Relation.EQUAL, number),))


def _numbered_names(kind: str, text: str, name: str = "") -> list[str]:
    return [f"{name or kind}{match[1]}" for match in re.finditer(rf"\b{kind}\s?#?(\d)\b", text, re.IGNORECASE)]


def _without_names(text: str) -> str:
    return re.sub(r"\b(?:supplier|roastery|cafe)\s?#?\d\b", " ", text, flags=re.IGNORECASE)


def _find_number(text: str) -> float | None:
    match = NUMBER.search(text) or re.search(r"(\d+(?:\.\d+)?)(?=-(?:unit|dollar|value|point))", text)
    if match:
        return float(match[1])
    words = [value for word, value in WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    return float(words[0]) if words else None


def _in_order(text: str, patterns: dict[str, str]) -> list[str]:
    hits = [(hit.start(), name) for name, pattern in patterns.items()
             for hit in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)]  # fmt: skip
    return list(dict.fromkeys(name for _, name in sorted(hits)))


def _shipment_ends(text: str, cities: list[str]) -> tuple[str, str]:
    """Start and end of a shipment: "from" and "to" decide, else the order."""
    first, second = cities[:2]
    turned = re.search(rf"\bto {re.escape(first)}\b.*\bfrom {re.escape(second)}\b", text, re.IGNORECASE)
    return (second, first) if turned else (first, second)


def _change_costs(chosen: Callable[[Key], bool], changed: Callable[[float], float]) -> WhatIfChange:
    return WhatIfChange({("cost", key): changed(cost) for key, cost in NETFLOW["cost"].items() if chosen(key)})


def _change_data(table: str, key: Key, value: float) -> WhatIfChange:
    return WhatIfChange({(table, key): value})


def _zero_rows(names: Iterable[str]) -> tuple[Row, ...]:
    return tuple(Row("row", {name: 1.0}, Relation.EQUAL, 0.0) for name in names)
