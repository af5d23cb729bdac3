"""Sets of problems: our seeded families, CSV files, and OptiBench (Yang et al. 2024, arXiv:2407.09887)."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError, ProblemError
from oragent.evals.formulate.sets.labelled import (
    Label,
    Labelled,
    ProblemSet,
    check_records,
    label_of,
    read_figure,
    slug,
)
from oragent.formulate.data import read_text, show_path
from oragent.formulate.problem import ProblemText
from oragent.milp.families import FAMILIES

SIZE = 3


def family_set(size: str = "", seeds: int = 2) -> ProblemSet:
    """All families, some seeds each.

    Args:
        size: Of each instance; empty for a small one.
        seeds: How many, from 1 on.

    Raises:
        ConfigError: The size is no number.
    """
    if size and not (size.isdecimal() and 2 <= int(size) <= 50):
        raise ConfigError(f"families={size}: expected a size from 2 to 50")
    cases = []
    for name, generate in FAMILIES.items():
        for seed in range(1, seeds + 1):
            instance = generate(seed, int(size or SIZE))
            problem = ProblemText(slug(f"{name}-{seed}"), instance.text, instance.data)
            cases.append(Labelled(problem, Label(instance.optimum), instance.milp))
    return ProblemSet("families", f"{len(FAMILIES)} families of our own, proven optima", tuple(cases))


def read_table(path: Path) -> ProblemSet:
    """Read a table; records without a question or an answer are left out and named by their lines.

    Raises:
        ProblemError: It has no such columns, or no record that can be used.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, "a table")), strict=True)
    if not {"question", "answer"} <= set(reader.fieldnames or ()):
        raise ProblemError(f"{show_path(path)}, line 1: expected the columns question and answer")
    cases, left_out, line_number = [], [], 1
    try:
        for number, row in enumerate(reader, 1):
            begin, line_number = line_number + 1, reader.line_num
            answer = read_figure(row["answer"] or "")
            if not (row["question"] or "").strip() or answer is None:
                what = "question" if not (row["question"] or "").strip() else "answer that is a number"
                left_out.append(f"line {begin}: record {number} has no {what}")
                continue
            problem = ProblemText(f"{number:04d}", row["question"], background=row.get("background") or "")
            cases.append(Labelled(problem, label_of(answer)))
    except csv.Error as problem:
        raise ProblemError(f"{show_path(path)}, line {reader.line_num}: no CSV ({problem})") from None
    return ProblemSet(slug(path.stem), f"{len(cases)} problems of {path.name}", tuple(cases), tuple(left_out), path)


def read_optibench(path: Path) -> ProblemSet:
    """Read the file: a label is met where its figure is the objective or one of the values.

    Raises:
        ProblemError: It is not such a file.
    """
    try:
        records_read = check_records(path, json.loads(read_text(path, "OptiBench's problems")))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{show_path(path)}, line {problem.lineno}: no JSON ({problem.msg})") from None
    cases, left_out = [], []
    for index, record in enumerate(records_read):
        results = _read_results(record.get("results"))
        question = str(record.get("question") or "")
        if not question.strip() or not results:
            left_out.append(f"record {index}: no {'results' if question.strip() else 'question'} that can be used")
            continue
        kind = str(record.get("type") or "")
        unsupported = "nonlinear" if kind.startswith("nonlinear") else ""
        cases.append(Labelled(ProblemText(f"{index:04d}", question), Label(values=results), unsupported=unsupported))
    scope = sum(not case.unsupported for case in cases)
    title = f"{scope} linear problems of {len(cases)} in {path.name}; the others are unsupported"
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _read_results(results: Any) -> dict[str, float]:
    if not isinstance(results, dict):
        return {}
    figures = {str(name): read_figure(value) for name, value in results.items()}
    return {name: value for name, value in figures.items() if isinstance(value, float)}
