"""A CSV file with the columns question and answer."""

import csv
import io
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent.evals.formulate.sets.labelled import Labelled, ProblemSet, figure, label_of, slug
from oragent.formulate.problem import ProblemText
from oragent.formulate.texts import read_text, shown


def read_table(path: Path) -> ProblemSet:
    """Read a table; records without a question or an answer are left out and named by their lines.

    Raises:
        ProblemError: It has no such columns, or no record that can be used.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, "a table")), strict=True)
    if not {"question", "answer"} <= set(reader.fieldnames or ()):
        raise ProblemError(f"{shown(path)}, line 1: expected the columns question and answer")
    cases, left_out, line = [], [], 1
    try:
        for number, row in enumerate(reader, 1):
            begin, line = line + 1, reader.line_num
            answer = figure(row["answer"] or "")
            if not (row["question"] or "").strip() or answer is None:
                what = "question" if not (row["question"] or "").strip() else "answer that is a number"
                left_out.append(f"line {begin}: record {number} has no {what}")
                continue
            problem = ProblemText(f"{number:04d}", row["question"], background=row.get("background") or "")
            cases.append(Labelled(problem, label_of(answer)))
    except csv.Error as problem:
        raise ProblemError(f"{shown(path)}, line {reader.line_num}: no CSV ({problem})") from None
    return ProblemSet(slug(path.stem), f"{len(cases)} problems of {path.name}", tuple(cases), tuple(left_out), path)
