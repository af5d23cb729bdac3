"""NL4Opt (Ramamonjison et al. 2022): gold formulations, in which names and numbers are text in many spellings."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError, ProblemError
from oragent.evals.formulate.sets.labelled import Label, Labelled, ProblemSet, records, slug
from oragent.formulate.problem import ProblemText
from oragent.formulate.texts import read_text, shown
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

SPELLINGS = "nl4opt_test_gold.json"  # beside the verified set: it has the names' spellings
STATUSES = {"infeasible": "infeasible", "4": "unbounded"}
RELATIONS = {"LESS_OR_EQUAL": Relation.AT_MOST, "GREATER_OR_EQUAL": Relation.AT_LEAST}
LARGER = {"maximize", "maximum"}
SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
WORDS = (
    {word: float(value) for value, word in enumerate(SMALL.split())}
    | {word: 10.0 * (place + 2) for place, word in enumerate(TENS.split())}
    | {"third": 1 / 3, "half": 0.5, "quarter": 0.25, "once": 1.0, "twice": 2.0, "double": 2.0, "thrice": 3.0}
    | {"triple": 3.0, "a": 1.0, "an": 1.0}
)


def read_nl4opt(path: Path) -> ProblemSet:
    """Read the verified set, or all of the test set; a formulation whose names cannot be read leaves the case without.

    Raises:
        ProblemError: It is not such a file.
    """
    found, beside = _load(path), path.with_name(SPELLINGS)
    spelled = {str(one.get("id")): one.get("var_map", {}) for one in (_load(beside) if beside.is_file() else found)}
    cases, left_out = [], []
    for place, record in enumerate(found):
        name, question = slug(str(record.get("id", place))), str(record.get("question") or "")
        label = _label(record)
        if not question.strip() or label is None:
            left_out.append(f"record {place}: no {'answer' if question.strip() else 'question'}")
            continue
        try:
            gold = gold_milp(record, record.get("var_map") or spelled.get(str(record.get("id")), {}))
        except (KeyError, ValueError, TypeError, AttributeError, MilpError):
            gold = None
        cases.append(Labelled(ProblemText(name, question), label, gold))
    whole = " (the published table is of all 289)" if len(cases) < 280 else ""
    return ProblemSet(slug(path.stem), f"{len(cases)} problems of {path.name}{whole}", tuple(cases), tuple(left_out),
                      path)  # fmt: skip


def number(text: str) -> float:
    """A figure as people write it: ``$1,000``, ``20%``, ``fifteen percent``, ``one third``, ``1.5 times``.

    Raises:
        KeyError: It has a word that is none of a number.
    """
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


def gold_milp(record: Mapping[str, Any], spellings: Mapping[str, str]) -> Milp:
    """The gold formulation; every variable is a whole number from 0 on.

    Args:
        record: As the file has it.
        spellings: Variable by the names that the text uses for it.

    Raises:
        KeyError: A name or number cannot be read.
        MilpError: They make no model.
    """
    names = [str(name) for name in record["vars"]]
    own = _names(names, spellings)

    def terms(given: Mapping[str, str]) -> dict[str, float]:
        return {own(name): number(value) for name, value in given.items()}

    rows = tuple(_row(place, entry, names, own, terms) for place, entry in enumerate(record["constraints"]))
    goal = record["objective"]
    costs = terms(goal["terms"]) if goal["type"] == "objective" else dict.fromkeys(map(own, goal["vars"]), 1.0)
    return Milp(
        tuple(Variable(name, kind=VariableKind.INTEGER) for name in names),
        rows,
        Objective(costs),
        Sense.MAXIMIZE if goal["direction"] in LARGER else Sense.MINIMIZE,
        str(record["id"]),
    )


def _row(
    place: int,
    entry: Mapping[str, Any],
    names: list[str],
    own: Callable[[str], str],
    terms: Callable[[Mapping[str, str]], dict[str, float]],
) -> Row:
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


def _names(names: list[str], spellings: Mapping[str, str]) -> Callable[[str], str]:
    known = {spelling.lower(): target for spelling, target in spellings.items()} | {one.lower(): one for one in names}

    def own(name: str) -> str:
        for key in (name.lower(), f"{name.lower()}s", name.lower().removesuffix("s")):
            if key in known and known[key] in names:
                return known[key]
        raise KeyError(name)

    return own


def _label(record: Mapping[str, Any]) -> Label | None:
    """Of the verified set the answer on which three sources agree; of the others that of the published grader."""
    for key in ("answer", "lpwp_answer"):
        if isinstance(record.get(key), int | float):
            return Label(float(record[key]))
    if record.get("lpwp_answer", "") is None:
        return None
    status = STATUSES.get(str(record.get("gold_ip_status")))
    return Label(status=status) if status else None


def _load(path: Path) -> list[dict[str, Any]]:
    try:
        return records(path, json.loads(read_text(path, "NL4Opt's problems")))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{shown(path)}, line {problem.lineno}: no JSON ({problem.msg})") from None
