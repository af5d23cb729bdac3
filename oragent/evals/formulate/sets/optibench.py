"""OptiBench (Yang et al. 2024, arXiv:2407.09887): figures by label; the nonlinear problems are out of scope."""

import json
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent.evals.formulate.sets.labelled import Label, Labelled, ProblemSet, figure, records, slug
from oragent.formulate.problem import ProblemText
from oragent.formulate.texts import read_text, shown


def read_optibench(path: Path) -> ProblemSet:
    """Read the file: a label is met where its figure is the objective or one of the values.

    Raises:
        ProblemError: It is not such a file.
    """
    try:
        found = records(path, json.loads(read_text(path, "OptiBench's problems")))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{shown(path)}, line {problem.lineno}: no JSON ({problem.msg})") from None
    cases, left_out = [], []
    for place, record in enumerate(found):
        results = _results(record.get("results"))
        question = str(record.get("question") or "")
        if not question.strip() or not results:
            left_out.append(f"record {place}: no {'results' if question.strip() else 'question'} that can be used")
            continue
        kind = str(record.get("type") or "")
        unsupported = "nonlinear" if kind.startswith("nonlinear") else ""
        cases.append(Labelled(ProblemText(f"{place:04d}", question), Label(values=results), unsupported=unsupported))
    scope = sum(not case.unsupported for case in cases)
    title = f"{scope} linear problems of {len(cases)} in {path.name}; the others are unsupported"
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _results(found: Any) -> dict[str, float]:
    if not isinstance(found, dict):
        return {}
    figures = {str(name): figure(value) for name, value in found.items()}
    return {name: value for name, value in figures.items() if isinstance(value, float)}
