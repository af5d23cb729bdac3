"""Stand-ins for a model that know the gold formulation of every case: one is right, one makes a seeded error.

They speak every role of every method, so that commands, ablations and rivals can be tried without a server.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from oragent._base.errors import ModelError
from oragent.formulate.written import checker_of, parameters_of, program_of
from oragent.ledger.replies import KEY
from oragent.llm.model import Reply, Request, estimate_tokens
from oragent.milp.model import Milp, Relation, VariableKind
from oragent.milp.plain import quoted

FEEDBACK = re.compile(r"<feedback>\n(.*?)\n</feedback>", re.DOTALL)
OPPOSITE = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST, Relation.EQUAL: Relation.AT_LEAST}
PULP = str.maketrans("-+[] ->/", "________")  # what PuLP makes of signs in names


class Fault(StrEnum):
    """What is wrong with a program."""

    DROP = "drop"  # a row is missing
    FLIP = "flip"  # a row is turned round
    INTEGRALITY = "integrality"  # fractions are allowed


@dataclass(frozen=True)
class Error:
    """An error to be planted.

    Attributes:
        fault: Of which kind.
        row: Which row; empty for integrality.
    """

    fault: Fault
    row: str = ""

    def __str__(self) -> str:
        return f"{self.fault} {self.row}".strip()


def errors_of(milp: Milp) -> list[Error]:
    """All single errors that can be planted in a model."""
    rows = [row.name for row in milp.rows]
    whole = [Error(Fault.INTEGRALITY)] if milp.has_integers else []
    return [Error(fault, row) for fault in (Fault.DROP, Fault.FLIP) for row in rows] + whole


def planted(milp: Milp, error: Error) -> Milp:
    """The model with an error."""
    if error.fault is Fault.INTEGRALITY:
        return replace(milp, variables=tuple(replace(one, kind=VariableKind.CONTINUOUS) for one in milp.variables))
    if error.fault is Fault.DROP:
        return replace(milp, rows=tuple(row for row in milp.rows if row.name != error.row))
    rows = (replace(row, relation=OPPOSITE[row.relation]) if row.name == error.row else row for row in milp.rows)
    return replace(milp, rows=tuple(rows))


class GoldModel:
    """Writes the gold formulation of a case, or one with an error until the feedback names what is wrong.

    Args:
        golds: Model by the name of the case.
        errors: Error by the name of the case; a case that is not in it gets the gold formulation.
        name: Of the model, as replies carry it.
        broken: Names of cases whose first program raises.
    """

    def __init__(
        self,
        golds: Mapping[str, Milp],
        errors: Mapping[str, Error] | None = None,
        name: str = "oracle",
        broken: frozenset[str] = frozenset(),
    ) -> None:
        self._golds, self._errors, self._name, self._broken = golds, errors or {}, name, broken
        self.calls = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Answer in the request's role.

        Raises:
            ModelError: The gold formulation of the case is not known.
        """
        self.calls += 1
        found = KEY.fullmatch(request.key)
        case = found["case"] if found else request.key
        if case not in self._golds:
            raise ModelError(f"the model {self._name!r} knows no gold formulation of {case!r}: name another --model")
        text = self._said(request, self._golds[case], self._errors.get(case))
        if case in self._broken and request.role not in MENDING:
            text = text.replace("    problem.solve()", "    problem.solve(missing)")
        asked = sum(estimate_tokens(message.content) for message in request.messages)
        return Reply(
            text, tokens_in=asked, tokens_out=estimate_tokens(text), money=0.0, seconds=0.0, model=self._name
        )  # fmt: skip

    def _said(self, request: Request, gold: Milp, error: Error | None) -> str:
        role = request.role
        if role == "semantic_encoder":
            return _fenced("json", json.dumps(_encoded(gold)))
        if role == "formalization":
            return _fenced("json", json.dumps(_formal(gold)))
        if role == "terminology":
            return _fenced("json", json.dumps([{"terminology": "row", "interpretation": "a constraint"}]))
        if role in STRUCTURED:
            return _fenced("json", json.dumps(STRUCTURED[role]))
        if role in WORDS:
            return WORDS[role]
        if role == "counterfactual":
            return _fenced("python", checker_of(gold))
        if error is not None and not _named(request.messages[0].content, gold, error):
            return _fenced("python", program_of(planted(gold, error), parameters_of(gold)))
        return _fenced("python", program_of(gold))


MENDING = ("supervisor_backward", "counterfactual", "optimus_debug")  # roles that are told of an error
WORDS = {
    "conductor": "the first of them",
    "reviewer": "It says what the problem says.",
    "syntax_analysis": "1. A name. 2. The line that is named.",
    "unite": "all of them",
    "score": "7",
    "reflection": "Read every sentence of the problem once more.",
    "coe_conductor": "the first of them",
}
STRUCTURED: Mapping[str, Any] = {
    "propose": ["as the problem says", "in another way", "in a third way"],
    "optimus_extract": {"variables": ["x"], "constraints": ["a limit"], "objective": "make it large"},
    "coe_backward": {"caused_by_me": False, "reason": "", "refined": "as before"},
}


def seeded(cases: Mapping[str, Milp], seed: int) -> dict[str, Error]:
    """One error a case, drawn from all that there are."""
    found = {}
    for name, milp in cases.items():
        every = errors_of(milp)
        if every:
            found[name] = every[int(np.random.default_rng([seed, *name.encode()]).integers(len(every)))]
    return found


def _named(prompt: str, gold: Milp, error: Error) -> bool:
    """Whether the feedback of a prompt names what is wrong."""
    told = FEEDBACK.search(prompt)
    if told is None:
        return False
    if error.fault is Fault.INTEGRALITY:
        names = [f"whole {one.name}" for one in gold.variables]
        return any(quoted(name) in told[1] for name in names)
    return quoted(error.row) in told[1] or quoted(error.row.translate(PULP)) in told[1]


UNITS = {"Worth": "money per unit", "Constant": "money", "Coefficients": "amount per unit", "Limits": "amount",
         "Least": "unit", "Most": "unit"}  # fmt: skip


def _encoded(gold: Milp) -> dict[str, Any]:
    return {
        name: {"Type": "float", "Definition": name.lower(), "Unit": UNITS[name], "Kind": "vector", "Value": value}
        for name, value in parameters_of(gold).items()
    }


def _formal(gold: Milp) -> dict[str, Any]:
    return {
        "VARIABLES": [f"{one.name}: {one.kind}" for one in gold.variables],
        "CONSTRAINTS": [f"{row.name}: {row.relation} {row.rhs} -- {row.meaning}" for row in gold.rows],
        "OBJECTIVE": f"{gold.sense}",
        "UNIT": "money",
    }


def _fenced(tag: str, text: str) -> str:
    return f"```{tag}\n{text}\n```"
