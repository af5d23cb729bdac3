"""Text and layout of the code stay plain: measures that may fall, and limits that they do not pass.

A limit that no longer binds is lowered by hand. Texts are comments, docstrings and the messages of exceptions.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.sources import PACKAGE, SOURCES

# Phrases that make a sentence hard to read for people whose first language is not English.
ODD_PHRASES = {
    "clause": r"\bwhat (?:is|has|was|it|they|a|an|the|no|ends|comes|goes)\b(?![^.]*\?)",
    "where": r"\bwhere (?:there|it|they|no|none|that|nothing|this)\b",
    "person": r"\b(?:nobody|whoever|somebody|stranger|who else)\b",
    "beside": r"\bbeside\b",
    "none": r"\b(?:is no|is none|are none|are no|has none|of none)\b",
}
# First words of a text that announces a question instead of saying what the code does.
RIDDLE = r"^(?:What|Who|Where|How|Whether|Which)\b"
# Odd phrases per 1,000 lines of each package.
MAX_ODD = 3.0
MAX_PERCENT_OF_FILES_WITH_LATE_CONSTANTS = 5.0
MIN_PERCENT_OF_COMMENTS_ON_OWN_LINES = 60.0
MAX_UNFORMATTED = 20


@dataclass(frozen=True)
class FileMeasures:
    """What is counted in a file."""

    lines: int
    odd_phrases: int
    comments: int
    comments_on_own_lines: int
    unformatted: int
    has_late_constant: bool
    nested_expressions: tuple[int, ...]


@cache
def measure(path: Path) -> FileMeasures:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    explaining = [token for token in comments if not is_directive(token)]
    return FileMeasures(
        lines=len(source.splitlines()),
        odd_phrases=sum(map(count_odd_phrases, texts(nodes, comments))),
        comments=len(explaining),
        comments_on_own_lines=sum(token.line.lstrip().startswith("#") for token in explaining),
        unformatted=sum(token.string.startswith("# fmt: skip") for token in comments),
        has_late_constant=has_late_constant(tree),
        nested_expressions=tuple(node.lineno for node in nodes if is_nested(node)),
    )


def texts(nodes: list[ast.AST], comments: list[tokenize.TokenInfo]) -> Iterator[str]:
    """Docstrings, comments and messages of exceptions."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            values = [part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant)]
            yield " ".join(value for value in values if isinstance(value, str))
    for token in comments:
        yield token.string.lstrip("# ")


def count_odd_phrases(text: str) -> int:
    odd = sum(len(re.findall(pattern, text, re.IGNORECASE)) for pattern in ODD_PHRASES.values())
    return odd + bool(re.match(RIDDLE, text))


def has_late_constant(tree: ast.Module) -> bool:
    """Whether a constant in capitals is defined below the first function."""
    is_after_function = False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_after_function = True
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if is_after_function and names and all(name.isupper() for name in names):
            return True
    return False


def is_nested(node: ast.AST) -> bool:
    """Whether a conditional expression has another as its condition or choice."""
    if not isinstance(node, ast.IfExp):
        return False
    return any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))


def is_directive(token: tokenize.TokenInfo) -> bool:
    return token.string.startswith(("#!", "# type:", "# noqa", "# fmt:"))


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()))
def test_odd_phrases_do_not_become_more(package: str) -> None:
    paths = sorted((PACKAGE / package).rglob("*.py"))
    odd = Counter({path: measure(path).odd_phrases for path in paths})
    measured = 1000 * odd.total() / sum(measure(path).lines for path in paths)
    worst = [f"{path.relative_to(PACKAGE)}: {count}" for path, count in odd.most_common(5)]
    assert measured <= MAX_ODD, f"rewrite sentences, in {worst}"


def test_comments_stand_above_the_code() -> None:
    measures = list(map(measure, SOURCES))
    own = sum(file.comments_on_own_lines for file in measures)
    assert 100 * own / sum(file.comments for file in measures) >= MIN_PERCENT_OF_COMMENTS_ON_OWN_LINES


def test_code_is_formatted_but_for_a_few_tables() -> None:
    assert sum(measure(path).unformatted for path in SOURCES) <= MAX_UNFORMATTED


def test_constants_stand_at_the_top() -> None:
    late = [str(path.relative_to(PACKAGE)) for path in SOURCES if measure(path).has_late_constant]
    assert 100 * len(late) / len(SOURCES) <= MAX_PERCENT_OF_FILES_WITH_LATE_CONSTANTS, late


def test_a_conditional_expression_holds_no_other() -> None:
    nested = {path: lines for path in SOURCES if (lines := measure(path).nested_expressions)}
    assert nested == {}


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Return the length of each tour.", 0),
        ("Of a text that was dear nothing may stay.", 0),
        ("Whether there is none, where nothing is.", 3),
        ("Everything beside what it holds; nobody asks.", 3),
        ("What is asked? A question is no riddle here.", 2),
    ],
)
def test_odd_phrases_are_counted(text: str, odd: int) -> None:
    assert count_odd_phrases(text) == odd


def test_late_constants_are_seen() -> None:
    assert has_late_constant(ast.parse("def f(): ...\nLIMIT = 3"))
    assert not has_late_constant(ast.parse("LIMIT = 3\ndef f(): ...\nname = 2"))
