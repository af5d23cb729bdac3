"""Run gold code of what-if questions on a small stand-in for its solver's interface: a script, for the sandbox alone.

It reads ``questions.json`` and leaves ``changes.json``: for each question, which data its code changed and which rows
it added. Nothing is solved here.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Term:
    """A linear expression; comparing two makes a row."""

    # value in the solution of the base model: the diet, which alone asks for it, has none
    X = 0.0

    def __init__(self, terms: dict[str, float], constant: float = 0.0) -> None:
        self.terms, self.constant = terms, constant

    def __add__(self, other: Any) -> "Term":
        other = as_term(other)
        terms = dict(self.terms)
        for name, value in other.terms.items():
            terms[name] = terms.get(name, 0.0) + value
        return Term(terms, self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, factor: float) -> "Term":
        return Term({name: factor * value for name, value in self.terms.items()}, factor * self.constant)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> "Term":
        return self + as_term(other) * -1

    def __rsub__(self, other: Any) -> "Term":
        return as_term(other) - self

    def row(self, other: Any, relation: str) -> list[Any]:
        """The row that a comparison makes."""
        difference = self - other
        return [difference.terms, relation, -difference.constant]

    def __eq__(self, other: Any) -> Any:
        return self.row(other, "=")

    def __le__(self, other: Any) -> list[Any]:
        return self.row(other, "<=")

    def __ge__(self, other: Any) -> list[Any]:
        return self.row(other, ">=")

    __hash__ = None  # type: ignore[assignment]  # as comparing makes a row


def as_term(value: Any) -> Term:
    """A number or an expression as an expression."""
    if isinstance(value, Term):
        return value
    return Term({}, float(value))


class RowCollector:
    """Collects rows."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def addConstr(self, row: Any, name: str = "") -> None:
        """Take a row."""
        self.rows.append(row)

    def addConstrs(self, rows: Iterable[Any], name: str = "") -> None:
        """Take several rows."""
        self.rows += list(rows)


def run_change(question: dict[str, Any]) -> dict[str, Any]:
    """Run the code of one question and return its changes."""
    data = {name: {bare_key(key): value for key, value in table} for name, table in question["data"].items()}
    earlier = {name: dict(table) for name, table in data.items()}
    model = RowCollector()
    names = {**data, **variable_tables(question["variables"]), **question["sets"], "m": model, "model": model}
    for part in ("data_code", "row_code"):
        exec(compile(question[part], part, "exec"), names)
    changed = [
        [name, list(key) if isinstance(key, tuple) else [key], value]
        for name in data
        for key, value in names[name].items()
        if earlier[name].get(key) != value
    ]
    return {"data": changed, "rows": model.rows}


def bare_key(key: list[str]) -> Any:
    """A key as code writes it: a tuple, or the one part."""
    if len(key) > 1:
        return tuple(key)
    return key[0]


def variable_tables(variables: list[str]) -> dict[str, dict[Any, Term]]:
    """Variables by the table of their names: ``x[a,b]`` is ``x["a", "b"]``."""
    grouped: dict[str, dict[Any, Term]] = {}
    for name in variables:
        table, _, inside = name.partition("[")
        grouped.setdefault(table, {})[bare_key(inside[:-1].split(","))] = Term({name: 1.0})
    return grouped


def main() -> None:
    """Answer every question."""
    questions = json.loads(Path("questions.json").read_text(encoding="utf-8"))
    changes = []
    for question in questions:
        try:
            changes.append(run_change(question))
        except Exception as problem:
            changes.append({"problem": f"{type(problem).__name__}: {problem}"[:300]})
    Path("changes.json").write_text(json.dumps(changes), encoding="utf-8")


if __name__ == "__main__":
    main()
