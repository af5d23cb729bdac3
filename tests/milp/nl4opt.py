"""The gold formulations of NL4Opt as models: names and numbers are text there, in many spellings."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oragent.milp.model import Kind, Milp, Objective, Relation, Row, Sense, Variable

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "formulation" / "nl4opt"
RELATIONS = {"LESS_OR_EQUAL": Relation.AT_MOST, "GREATER_OR_EQUAL": Relation.AT_LEAST}
LARGER = {"maximize", "maximum"}
UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
WORDS = {word: float(value) for value, word in enumerate(UNITS)} | {
    "seventeen": 17.0, "eighteen": 18.0, "nineteen": 19.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0,
    "sixty": 60.0, "seventy": 70.0, "eighty": 80.0, "ninety": 90.0, "hundred": 100.0, "third": 1 / 3, "half": 0.5,
    "quarter": 0.25, "once": 1.0, "twice": 2.0, "double": 2.0, "thrice": 3.0, "triple": 3.0, "a": 1.0, "an": 1.0,
}  # fmt: skip


def number(text: str) -> float:
    """A figure as people write it: ``$1,000``, ``20%``, ``fifteen percent``, ``one third``, ``1.5 times``."""
    plain = text.lower().replace(",", "").replace("$", "").replace("-", " ").strip()
    share = 0.01 if re.search(r"%|percent|per cent", plain) else 1.0
    plain = re.sub(r"%|percent|per cent|times|as much|as many|of\b|the\b", " ", plain)
    if found := re.search(r"\d+(?:\.\d+)?|\.\d+", plain):
        value = float(found.group())
        divided = re.search(r"/\s*(\d+)", plain)
        return share * (value / float(divided.group(1)) if divided else value)
    total = 0.0
    for word in plain.split():
        factor = WORDS[word.removesuffix("s") if word.removesuffix("s") in ("third", "quarter") else word]
        total = total * factor if total and (factor == 100.0 or factor < 1.0) else total + factor
    return share * total


def model(record: Mapping[str, Any], var_map: Mapping[str, str]) -> Milp:
    """The gold formulation; every variable is a whole number from 0 on."""
    names = list(record["vars"])

    def own(name: str) -> str:
        spellings = {spelling.lower(): target for spelling, target in var_map.items()}
        spellings |= {known.lower(): known for known in names}
        for key in (name.lower(), f"{name.lower()}s", name.lower().removesuffix("s")):
            if key in spellings and spellings[key] in names:
                return spellings[key]
        raise KeyError(name)

    def terms(given: Mapping[str, str]) -> dict[str, float]:
        return {own(name): number(value) for name, value in given.items()}

    def row(place: int, entry: Mapping[str, Any]) -> Row:
        relation, kind = RELATIONS[entry["operator"]], entry["type"]
        limit = number(entry["limit"]) if "limit" in entry else 0.0
        if kind == "linear":
            left = terms(entry["terms"])
        elif kind in ("lowerbound", "upperbound"):
            left = {own(entry["var"]): 1.0}
        elif kind == "sum":
            left = dict.fromkeys(names, 1.0)
        elif kind == "ratio":
            share, limit = limit / 100 if limit > 1 else limit, 0.0
            left = {name: (1.0 if name == own(entry["var"]) else 0.0) - share for name in names}
        else:
            factor = number(entry["param"]) if kind == "xby" else 1.0
            left = {own(entry["x_var"]): 1.0, own(entry["y_var"]): -factor}
        return Row(f"c{place}", left, relation, limit)

    goal = record["objective"]
    costs = terms(goal["terms"]) if goal["type"] == "objective" else dict.fromkeys(map(own, goal["vars"]), 1.0)
    return Milp(
        tuple(Variable(name, kind=Kind.INTEGER) for name in names),
        tuple(row(place, entry) for place, entry in enumerate(record["constraints"])),
        Objective(costs),
        Sense.MAXIMIZE if goal["direction"] in LARGER else Sense.MINIMIZE,
        record["id"],
    )


def verified() -> list[tuple[Milp, float]]:
    """The 222 problems on which three sources agree, with their answers."""
    gold = {record["id"]: record for record in json.loads((FOLDER / "nl4opt_test_gold.json").read_text())}
    records = json.loads((FOLDER / "nl4opt_verified.json").read_text())
    return [(model(record, gold[record["id"]]["var_map"]), record["answer"]) for record in records]
