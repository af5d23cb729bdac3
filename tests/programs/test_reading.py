"""Programs in files, their functions and texts of authors are read by the process that parses, and checked."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import CandidateError, ProblemError
from oragent.harness.kept_arrays import write_arrays
from oragent.programs import inspection, size_limits
from oragent.programs.inspection import (
    documentation,
    lay_out,
    outline,
    parse_expression,
    program_length,
    read_program,
    signature_of,
)
from oragent.programs.kept_arrays import KeptArray
from oragent.programs.syntax import Signature

WANTED = Signature("guess", ("x",), "def guess(x):")
PROGRAM = 'def guess(x):\n    """Guess."""\n    return x\n'


@pytest.mark.parametrize(
    "content", [PROGRAM.encode(), PROGRAM.replace("\n", "\r\n").encode(), PROGRAM.replace("\n", "\r").encode()]
)
def test_a_program_is_read_with_plain_ends_of_lines(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "program.py").write_bytes(content)
    assert read_program(tmp_path / "program.py", WANTED) == PROGRAM


def test_a_program_is_read_with_the_content_of_its_arrays(tmp_path: Path) -> None:
    """The size of the arrays does not count."""
    noise = np.random.default_rng(0).integers(0, 255, size_limits.MAX_BYTES, dtype=np.uint8)
    dtype, shape, text = json.loads(write_arrays({"table": noise}))["arrays"]["table"]
    source = f"TABLE = {KeptArray(dtype, tuple(shape), text).write_expression('table')}\n{PROGRAM}"
    assert len(source) > size_limits.MAX_BYTES
    (tmp_path / "program.py").write_text(source)
    assert read_program(tmp_path / "program.py", WANTED) == source
    (tmp_path / "program.py").write_text(f"{source}# {'x' * size_limits.MAX_BYTES}\n")
    with pytest.raises(CandidateError):
        read_program(tmp_path / "program.py", WANTED)


@pytest.mark.parametrize(
    "content", [b"def other(x):\n    return x\n", b"def (", b"\xff\xfe", b"#" * (size_limits.MAX_BYTES + 1), None]
)
def test_a_file_without_a_usable_program_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "program.py"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CandidateError) as caught:
        read_program(path, WANTED)
    assert str(path) in str(caught.value)
    assert caught.value.status == "rejected"


def test_a_framed_program_in_a_file_gets_the_fixed_text(tmp_path: Path) -> None:
    marks = "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n"
    wanted = Signature("guess", ("x",), "...", frame=(f"import math\n{marks[0]}", PROGRAM, marks[1]))
    (tmp_path / "program.py").write_text(PROGRAM)
    assert read_program(tmp_path / "program.py", wanted) == f"import math\n{marks[0]}{PROGRAM}{marks[1]}"


def test_the_definition_and_the_docstring_of_a_function_are_shown() -> None:
    source = f"def guess(x): 'First.'\ndef plain(x): return x\n@cache\n{PROGRAM}"
    assert outline(source, "guess") == 'def guess(x):\n    """Guess."""\n    ...'
    assert outline(source, "guess", documented=False) == "def guess(x):\n    ..."
    assert outline(source, "plain") == "def plain(x):\n    ..."
    assert documentation(source, "guess") == "Guess."
    assert documentation(source, "plain") == documentation(source, "absent") == ""
    assert signature_of(source, "guess") == WANTED
    assert program_length(PROGRAM) == len(["Module", "FunctionDef", "arguments", "arg", "Return", "Name"])
    with pytest.raises(ProblemError):
        signature_of("def (", "guess")
    with pytest.raises(CandidateError):
        outline(source, "absent")


def test_a_program_is_laid_out_from_its_tree() -> None:
    assert lay_out("def f(x):  # doubled\n  return (x*2)") == "def f(x):\n    return x * 2"
    assert lay_out("def (") == "def ("


@pytest.mark.parametrize(
    "text", ["x + 1", "  [y for y in x]  ", "x  # a comment", "(x\n+ 1)", "x" * inspection.MAX_EXPRESSION]
)
def test_an_expression_of_an_author_is_parsed(text: str) -> None:
    assert ast.dump(parse_expression(text)) == ast.dump(ast.parse(text.strip(), mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x +",
        "x = 1",
        "x) + (y",
        "x\n+ 1",
        "yield x y",
        "-" * 300 + "x",
        "x\0",
        "x" * (inspection.MAX_EXPRESSION + 1),
    ],
)
def test_what_is_no_expression_is_rejected(text: str) -> None:
    with pytest.raises(CandidateError) as caught:
        parse_expression(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_memory_of_what_was_read_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the oldest is forgotten, and is read again."""
    monkeypatch.setattr(inspection, "_passed", type(inspection._passed)())
    monkeypatch.setattr(inspection, "_MAX_PASSED", 3)
    texts = [f"x = {number}" for number in range(5)]
    for text in texts:
        inspection.mark_safe(text)
    assert [inspection.is_safe(text) for text in texts] == [False, False, True, True, True]
    monkeypatch.setattr(inspection, "_inspected", type(inspection._inspected)())
    monkeypatch.setattr(inspection, "_MAX_INSPECTED", 2)
    for number in range(4):
        inspection.inspect_program(f"{PROGRAM}# {number}\n", WANTED)
    assert [source[-2] for source, _ in inspection._inspected] == ["2", "3"]
