"""Texts up to the limits are taken, and those beyond are refused with a reason."""

import ast

import pytest

from oragent._base.ast_utils import all_nodes
from oragent.programs import size_limits
from oragent.programs.size_limits import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, MAX_LINES, MAX_PARTS, text_problem


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ""),
        ("x" * MAX_BYTES, ""),
        ("x" * (MAX_BYTES + 1), "bytes"),
        ("ä" * (MAX_BYTES // 2 + 1), "bytes"),
        *((end * MAX_LINES, "") for end in ("\n", "\r", "\r\n")),
        *((end * (MAX_LINES + 1), "lines") for end in ("\n", "\r", "\r\n")),
        ("x = '\udcff'", "characters"),
        ("x = 1\0", "null"),
        (".".join("a" * MAX_PARTS), ""),
        (".".join("a" * (MAX_PARTS + 1)), "parts"),
        (" . \\\n".join("a" * (MAX_PARTS + 1)), "parts"),
        ("[0]".join(["a.b"] * (MAX_PARTS + 1)), ""),
    ],
    ids=lambda text: repr(text[:9]),
)
def test_a_text_is_taken_up_to_the_limits(text: str, reason: str) -> None:
    problem = text_problem(text)
    assert reason in problem
    assert bool(problem) is bool(reason)
    assert "\n" not in problem


def find_problem(source: str) -> str:
    return size_limits.tree_problem(ast.parse(source), source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        # A module, a statement and the innermost name are levels, too.
        ("-" * (MAX_DEPTH - 3) + "x", ""),
        ("-" * (MAX_DEPTH - 2) + "x", "levels"),
        (f"x = 0x{'f' * (MAX_DIGITS * 3 // 4)}", ""),
        (f"x = 0x1{'f' * (MAX_DIGITS * 3 // 4)}", "digits"),
        (f"x = f(0b1{'0' * (MAX_DIGITS * 3)})", "digits"),
        # Python limits the digits of decimal numbers itself.
        ("x = " + "9" * (MAX_DIGITS + 100), ""),
        (f"x = '0x{'f' * MAX_DIGITS}'", ""),
    ],
    ids=lambda text: repr(text[:9]),
)
def test_a_tree_is_taken_up_to_the_limits(source: str, reason: str) -> None:
    problem = find_problem(source)
    assert reason in problem
    assert bool(problem) is bool(reason)


def count(source: str) -> int:
    """Count the nodes of statements."""
    return len(all_nodes(ast.parse(source))) - 1


TRIED = "if x:\n  return\n"


@pytest.mark.parametrize("exits", range(4))
@pytest.mark.parametrize("form", ["try", "try with handler", "loop"])
def test_each_exit_of_a_try_compiles_its_finally_once_more(
    exits: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a copy for the end of the block, one for an exception, and one for each exit."""
    body = {"try": "x\n", "try with handler": "x\n", "loop": "while x:\n  break\n"}[form]
    exits += form == "loop"
    handler = " except E:\n  x\n" if form == "try with handler" else ""
    returns = TRIED * (exits - (form == "loop"))
    inner = "".join(f"  {line}\n" for line in (body + returns).splitlines())
    source = f"def f(x):\n try:\n{inner}{handler} finally:\n  y = x + 1\n  g(y)\n"
    final = count("y = x + 1\ng(y)\n")
    total = count(source) + 1 + (exits + 1) * final
    for limit, is_refused in ((total, False), (total - 1, True)):
        monkeypatch.setattr(size_limits, "MAX_COPIES", limit)
        assert bool(find_problem(source)) is is_refused


def test_exits_in_a_finally_are_copied_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = "  try:\n   x\n  finally:\n   return\n"
    source = f"def f(x):\n try:\n{inner} finally:\n  y\n"
    # The inner block has two copies of its return, so the outer one has 2 + 2 copies.
    total = count(source) + 1 + count("return") + 3 * count("y")
    for limit, is_refused in ((total, False), (total - 1, True)):
        monkeypatch.setattr(size_limits, "MAX_COPIES", limit)
        assert bool(find_problem(source)) is is_refused


def test_a_program_without_finally_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "MAX_COPIES", 1)
    assert not find_problem("def f(x):\n try:\n  return x\n except E:\n  return 1\n")
