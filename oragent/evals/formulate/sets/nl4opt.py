"""NL4Opt (Ramamonjison et al. 2022): gold formulations, in which names and numbers are text in many spellings."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError, ProblemError
from oragent.evals.formulate.sets.labelled import Label, Labelled, ProblemSet, check_records, slug
from oragent.formulate.audit import NUMBER_WORDS
from oragent.formulate.data import read_text, show_path
from oragent.formulate.problem import ProblemText
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

SPELLINGS = "nl4opt_test_gold.json"  # beside the verified set: it has the names' spellings
STATUSES = {"infeasible": "infeasible", "4": "unbounded"}
RELATIONS = {"LESS_OR_EQUAL": Relation.AT_MOST, "GREATER_OR_EQUAL": Relation.AT_LEAST}
LARGER = {"maximize", "maximum"}
WORDS = {word: NUMBER_WORDS[word] for word in NUMBER_WORDS.keys() - {"dozen", "thousand", "million"}}
WORDS |= {"a": 1.0, "an": 1.0}


def read_nl4opt(path: Path) -> ProblemSet:
    """Read the verified set, or all of the test set; a formulation whose names cannot be read leaves the case without.

    Raises:
        ProblemError: It is not such a file.
    """
    records_read, beside = _load_records(path), path.with_name(SPELLINGS)
    spelled = {
        str(one.get("id")): one.get("var_map", {})
        for one in (_load_records(beside) if beside.is_file() else records_read)
    }
    cases, left_out = [], []
    for index, record in enumerate(records_read):
        name, question = slug(str(record.get("id", index))), str(record.get("question") or "")
        label = _read_label(record)
        if not question.strip() or label is None:
            left_out.append(f"record {index}: no {'answer' if question.strip() else 'question'}")
            continue
        try:
            gold = gold_milp(record, record.get("var_map") or spelled.get(str(record.get("id")), {}))
        except (KeyError, ValueError, TypeError, AttributeError, MilpError):
            gold = None
        cases.append(Labelled(ProblemText(name, question), label, gold))
    whole = " (the published table is of all 289)" if len(cases) < 280 else ""
    return ProblemSet(slug(path.stem), f"{len(cases)} problems of {path.name}{whole}", tuple(cases), tuple(left_out),
                      path)  # fmt: skip


def parse_number(text: str) -> float:
    """A figure as people write it: ``$1,000``, ``20%``, ``fifteen percent``, ``one third``, ``1.5 times``.

    Raises:
        KeyError: It has a word that is none of a number.
    """
    plain = text.lower().replace(",", "").replace("$", "").replace("-", " ").strip()
    share = 0.01 if re.search(r"%|percent|per cent", plain) else 1.0
    plain = re.sub(r"%|percent|per cent|times|as much|as many|of\b|the\b", " ", plain)
    if match := re.search(r"\d+(?:\.\d+)?|\.\d+", plain):
        value = float(match.group())
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
    find_name = _name_finder(names, spellings)

    def read_terms(texts: Mapping[str, str]) -> dict[str, float]:
        return {find_name(name): parse_number(value) for name, value in texts.items()}

    rows = tuple(
        _gold_row(index, entry, names, find_name, read_terms) for index, entry in enumerate(record["constraints"])
    )
    goal = record["objective"]
    costs = (
        read_terms(goal["terms"]) if goal["type"] == "objective" else dict.fromkeys(map(find_name, goal["vars"]), 1.0)
    )
    return Milp(
        tuple(Variable(name, kind=VariableKind.INTEGER) for name in names),
        rows,
        Objective(costs),
        Sense.MAXIMIZE if goal["direction"] in LARGER else Sense.MINIMIZE,
        str(record["id"]),
    )


def _gold_row(
    index: int,
    entry: Mapping[str, Any],
    names: list[str],
    find_name: Callable[[str], str],
    terms: Callable[[Mapping[str, str]], dict[str, float]],
) -> Row:
    relation, kind = RELATIONS[entry["operator"]], entry["type"]
    limit = parse_number(entry["limit"]) if "limit" in entry else 0.0
    if kind == "linear":
        coefficients = terms(entry["terms"])
    elif kind in ("lowerbound", "upperbound"):
        coefficients = {find_name(entry["var"]): 1.0}
    elif kind == "sum":
        coefficients = dict.fromkeys(names, 1.0)
    elif kind == "ratio":
        share, limit = limit / 100 if limit > 1 else limit, 0.0
        coefficients = {name: (1.0 if name == find_name(entry["var"]) else 0.0) - share for name in names}
    else:
        factor = parse_number(entry["param"]) if kind == "xby" else 1.0
        coefficients = {find_name(entry["x_var"]): 1.0, find_name(entry["y_var"]): -factor}
    return Row(f"c{index}", coefficients, relation, limit)


def _name_finder(names: list[str], spellings: Mapping[str, str]) -> Callable[[str], str]:
    target_of = {spelling.lower(): target for spelling, target in spellings.items()} | {
        variable.lower(): variable for variable in names
    }

    def find_name(name: str) -> str:
        for key in (name.lower(), f"{name.lower()}s", name.lower().removesuffix("s")):
            if key in target_of and target_of[key] in names:
                return target_of[key]
        raise KeyError(name)

    return find_name


def _read_label(record: Mapping[str, Any]) -> Label | None:
    """Of the verified set the answer on which three sources agree; of the others that of the published grader."""
    for key in ("answer", "lpwp_answer"):
        if isinstance(record.get(key), int | float):
            return Label(float(record[key]))
    if record.get("lpwp_answer", "") is None:
        return None
    status = STATUSES.get(str(record.get("gold_ip_status")))
    return Label(status=status) if status else None


def _load_records(path: Path) -> list[dict[str, Any]]:
    try:
        return check_records(path, json.loads(read_text(path, "NL4Opt's problems")))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{show_path(path)}, line {problem.lineno}: no JSON ({problem.msg})") from None
