"""Traceback of a candidate, with the values on the failing line."""

import linecache
import re
import traceback
from collections.abc import Collection, Mapping
from itertools import islice
from types import FrameType, TracebackType
from typing import Any

import numpy as np

MOST_CHARACTERS = 4000
MOST_VALUES = 8  # of a line that are told
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")  # no attribute of something else
MOST_BITS = 100  # of a whole number that is told
MOST_MEMBERS = 1000  # of a collection whose kinds are looked at
PLAIN = frozenset({bool, int, float, complex, type(None)})
NUMBERS = frozenset({np.bool_, np.int32, np.int64, np.float32, np.float64})
COLLECTIONS: frozenset[type] = frozenset({list, tuple, set, frozenset, dict, str, bytes})


def render_traceback(problem: BaseException, path: str) -> str:
    """Render the frames from the candidate's own code on; the harness above it is of no help to anyone.

    Below it stands what the variables of its last line held: by kind, shape and size, and single numbers by value.

    Args:
        problem: What the candidate raised.
        path: The candidate's file.

    Returns:
        The last ``MOST_CHARACTERS`` of it.
    """
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    frames = "".join(traceback.format_exception(type(problem), problem, trace))
    return (frames + _describe_values(problem, trace, path))[-MOST_CHARACTERS:]


def _describe_values(problem: BaseException, trace: TracebackType | None, path: str) -> str:
    """A line that says what the variables were where the candidate's own code failed; empty where it has none."""
    innermost = None
    while trace is not None:
        innermost = trace if trace.tb_frame.f_code.co_filename == path else innermost
        trace = trace.tb_next
    if innermost is None:
        return ""
    variables = _frame_variables(innermost.tb_frame)
    code_line = linecache.getline(path, innermost.tb_lineno)
    names = [*variables] if type(problem) is NameError else [*dict.fromkeys(NAME.findall(code_line))]
    descriptions = [f"{name}: {_describe_value(variables[name])}" for name in names if name in variables]
    what = "Known there" if type(problem) is NameError else "On that line"
    return f"{what}: {'; '.join(descriptions[:MOST_VALUES])}\n" if descriptions else ""


def _frame_variables(frame: FrameType) -> Mapping[str, Any]:
    """The variables of a function; those of a module, which are its imports and functions, tell nothing."""
    return {} if frame.f_code.co_name == "<module>" else frame.f_locals


def _describe_value(value: Any) -> str:
    """What a value is, without a call of anything that the candidate may have written."""
    kind = type(value)
    if kind is np.ndarray:
        return f"{value.dtype} array of shape {value.shape}"
    if kind is int and value.bit_length() > MOST_BITS:  # Python refuses to write very long ones
        return f"int of {value.bit_length()} bits"
    if kind in PLAIN or kind in NUMBERS:
        return "None" if value is None else f"{kind.__name__} {value}"
    name = str(type.__dict__["__name__"].__get__(kind))[:40]
    if kind not in COLLECTIONS:
        return name
    return f"{name} of {len(value)}{_describe_members(value)}"


def _describe_members(value: Collection[Any]) -> str:
    """Of what kind the members of a collection are, where they are of one."""
    if type(value) in (str, bytes):
        return " characters" if type(value) is str else ""
    kinds = {str(type.__dict__["__name__"].__get__(type(member)))[:40] for member in islice(value, MOST_MEMBERS)}
    return f" {kinds.pop()}" if len(kinds) == 1 else ""
