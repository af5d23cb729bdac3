"""A parse that Python itself breaks off is done again; any other failure goes on."""

import ast

import pytest

from oragent._base import ast_utils
from oragent._base.ast_utils import tree_of

MISMATCH = "AST constructor recursion depth mismatch (before=99, after=68)"


def failing(monkeypatch: pytest.MonkeyPatch, message: str, times: int) -> list[str]:
    asked: list[str] = []
    real = ast.parse

    def parse(text: str, mode: str = "exec") -> ast.AST:
        asked.append(text)
        if len(asked) <= times:
            raise SystemError(message)
        return real(text, mode=mode)

    monkeypatch.setattr(ast_utils.ast, "parse", parse)
    return asked


def test_a_mismatch_of_depths_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch, MISMATCH, ast_utils.ATTEMPTS - 1)
    assert ast.unparse(tree_of("x = 1")) == "x = 1"
    assert len(asked) == ast_utils.ATTEMPTS


@pytest.mark.parametrize(("message", "attempts"), [(MISMATCH, ast_utils.ATTEMPTS), ("something else", 1)])
def test_what_stays_wrong_is_raised(message: str, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch, message, 100)
    with pytest.raises(SystemError, match=message[:10]):
        tree_of("x = 1")
    assert len(asked) == attempts


def test_an_expression_and_a_syntax_error_are_what_they_are() -> None:
    assert isinstance(tree_of("x + 1", mode="eval").body, ast.BinOp)
    with pytest.raises(SyntaxError):
        tree_of("x +")
