"""ComplexOR, in two editions: 37 problems (Wang et al. 2025) and 18 (Xiao et al. 2024); they are never mixed."""

import json
import re
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent.evals.formulate.sets.labelled import Labelled, ProblemSet, figure, label_of, slug
from oragent.evals.formulate.sets.scaffold import scaffold, shape_of
from oragent.formulate.problem import ProblemText
from oragent.formulate.texts import read_text, shown

PARAMETER = re.compile(r"\\param\{([^}]*)\}")


def read_complexor(path: Path) -> ProblemSet:
    """Read the file, a record a line; the program is called with the record's ``input``.

    Raises:
        ProblemError: A line is no JSON.
    """
    cases, left_out = [], []
    for line, text in enumerate(read_text(path, "ComplexOR's problems").splitlines(), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except json.JSONDecodeError as problem:
            raise ProblemError(f"{shown(path)}, line {line}: no JSON ({problem.msg})") from None
        answer, words = figure(record.get("output")), _text(record)
        if not words.strip() or answer is None or not isinstance(record.get("input"), dict):
            left_out.append(f"line {line}: no description, input or output that can be used")
            continue
        background = str(record.get("background") or "")
        form = scaffold(record["input"], record.get("parameters"), [str(record.get("objective")), words])
        name = slug(str(record.get("id", line)))
        cases.append(Labelled(ProblemText(name, words, record["input"], form, background), label_of(answer)))
    title = (
        f"{len(cases)} problems of {path.name}; the published scaffolds declare the variables too, ours cannot: not to "
        "be held against the published figures"
    )
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _text(record: dict[str, Any]) -> str:
    parts = [PARAMETER.sub(r"\1", str(record.get("description") or ""))]
    told = record.get("parameters")
    known = [one for one in (told if isinstance(told, list) else ()) if isinstance(one, dict)]
    told_of = [f"- {one.get('symbol')}: {one.get('definition')}{shape_of(one.get('shape'))}" for one in known]
    parts += ["\nParameters:", *told_of] if known else []
    for name in ("constraints", "objective"):
        content = record.get(name)
        lines = content if isinstance(content, list) else [content] if content else []
        head = [f"\n{name.capitalize()}:"] if lines else []
        parts += head + [f"- {PARAMETER.sub(chr(92) + '1', str(line))}" for line in lines]
    return "\n".join(parts)
