"""Unusual arguments for a candidate's function, in its own process; `oragent.evaluation.hardening` judges the outcomes.

A Python program gets the text of the cases at its end. A program in C++ gets a comment with their names; its process
then runs the same text around the compiled function.
"""

import json
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

TEMPLATE = "hardening_template.txt"
# Beginning of the comment in a program in C++.
MARK = "// @HARDEN-CASES "
# Size of the arguments that are changed, if the evaluation has such a call.
ENOUGH = 8


def write_script(function: str, first: int, cases: Sequence[str], enough: int = ENOUGH) -> str:
    """Return Python text that redefines a function: a call runs the cases from ``first`` on, and then fails.

    It is the first call whose arguments have the size ``enough``, or the 61st one.
    """
    template = resources.files("oragent.harness").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return template.format(function=function, first=first, cases=list(cases), enough=enough)


def write_mark(first: int, cases: Sequence[str], enough: int = ENOUGH) -> str:
    """Return the comment that asks for the cases from ``first`` on."""
    return f"{MARK}{json.dumps([first, list(cases), enough])}\n"


def read_mark(source: str, function: str) -> str:
    """Return the Python text for a program in C++ whose last line asks for cases; empty for another program."""
    line = source.rstrip().rpartition("\n")[2]
    if not line.startswith(MARK):
        return ""
    try:
        first, cases, enough = json.loads(line.removeprefix(MARK))
        return write_script(function, int(first), [str(case) for case in cases], int(enough))
    except (ValueError, TypeError, RecursionError):
        return ""


def wrap_function(script: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls run the cases of ``read_mark``."""
    space: dict[str, Any] = {"__name__": "hardening", name: function}
    exec(compile(script, "hardening", "exec"), space)
    wrapped: Callable[..., Any] = space[name]
    return wrapped
