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


def write_script(function: str, first: int, cases: Sequence[str]) -> str:
    """Return Python text that redefines a function: a call runs the cases from ``first`` on, and then fails."""
    template = resources.files("oragent.harness").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return template.format(function=function, first=first, cases=list(cases))


def write_mark(first: int, cases: Sequence[str]) -> str:
    """Return the comment that asks for the cases from ``first`` on."""
    return f"{MARK}{json.dumps([first, list(cases)])}\n"


def read_mark(source: str, function: str) -> str:
    """Return the Python text for a program in C++ whose last line asks for cases; empty for another program."""
    line = source.rstrip().rpartition("\n")[2]
    if not line.startswith(MARK):
        return ""
    try:
        first, cases = json.loads(line.removeprefix(MARK))
        return write_script(function, int(first), [str(case) for case in cases])
    except (ValueError, TypeError, RecursionError):
        return ""


def wrap_function(script: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls run the cases of ``read_mark``."""
    space: dict[str, Any] = {"__name__": "hardening", name: function}
    exec(compile(script, "hardening", "exec"), space)
    wrapped: Callable[..., Any] = space[name]
    return wrapped
