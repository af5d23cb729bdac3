"""Programs out of replies in every dress."""

import ast
import contextlib
import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ReplyError
from oragent.programs.blocks import fence_text, fenced_blocks, without_edits
from oragent.programs.extract import extract_program
from oragent.programs.replies import extract_code

PLAIN = "import numpy as np\n\n\ndef heuristics(distances):\n    return 1.0 / np.maximum(distances, 1e-9)\n"
HELPED = '''"""Weights by rank."""

import numpy as np
from math import sqrt

SCALE = 0.5


def rank(row):
    # a comment
    return np.argsort(np.argsort(row))


def heuristics(distances: np.ndarray) -> np.ndarray:
    """Prefer near neighbours.

    Returns:
        Weights.
    """
    weights = np.empty_like(distances)
    for i, row in enumerate(distances):

        weights[i] = SCALE * sqrt(2) / (1 + rank(row))
    return weights
'''
TWO_LINES = "import math\ndef heuristics(x): return math.exp(-x) if x > 0 else [1, 2][0]\n"
DECORATED = "from numba import njit\n\n\n@njit(cache=True)\ndef heuristics(\n    a,\n    b,\n):\n    return a - b\n"
PROGRAMS = [PLAIN, HELPED, TWO_LINES, DECORATED]

# Prose has no fence, tag or edit marker of its own; line breaks and markup it may have.
words = st.text(st.characters(codec="utf-8", exclude_characters="`~<>", exclude_categories=["Cs", "Cc"]), max_size=12)
prose = st.lists(words, max_size=6).map(" ".join) | st.just("Here is\n\n* a **better** one:\n1. near first")
fences = st.sampled_from(["```", "````", "~~~"])
tags = st.sampled_from(["", "python", "py", "Python3", " python", "python title=heuristic.py", "text"])


def fail(text: str, parent: str | None = None) -> str:
    with pytest.raises(ReplyError) as caught:
        extract_program(text, "heuristics", parent)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(st.sampled_from(PROGRAMS), prose, prose, fences, tags, st.sampled_from(["", "    ", "\t"]))
def test_a_fenced_program_comes_back_as_it_is(
    program: str, before: str, after: str, fence: str, tag: str, margin: str
) -> None:
    block = textwrap.indent(f"{fence}{tag}\n{program}{fence}", margin, lambda line: True)
    assert extract_program(f"{before}\n{block}\n{after}", "heuristics") == program


@given(st.sampled_from(PROGRAMS), prose, tags)
def test_a_fence_may_stay_open_at_the_end(program: str, before: str, tag: str) -> None:
    assert extract_program(f"{before}\n```{tag}\n{program}", "heuristics") == program


@given(st.sampled_from(PROGRAMS), prose)
def test_thoughts_do_not_matter(program: str, thought: str) -> None:
    draft = f"{thought}\n```python\ndef heuristics(: # draft\n```\n"
    assert extract_program(f"<think>{draft}</think>\n```\n{program}```", "heuristics") == program
    assert extract_program(f"{draft}</think>\n```\n{program}```", "heuristics") == program  # opened by the prompt


@given(st.sampled_from(PROGRAMS))
def test_carriage_returns_do_not_matter(program: str) -> None:
    reply = f"```python\n{program}```".replace("\n", "\r\n")
    assert extract_program(reply, "heuristics") == program


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_reply_that_is_nothing_but_the_program_comes_back(program: str) -> None:
    assert extract_program(program, "heuristics") == program


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("margin", ["", "    "])
def test_a_program_between_prose_without_fences_is_found(program: str, margin: str) -> None:
    reply = f"Sure, from here we go!\n\n{textwrap.indent(program, margin)}\nThis works, since = is not ==.\n# Done"
    tree = ast.parse(extract_program(reply, "heuristics"))
    wanted = [node for node in ast.parse(program).body if not isinstance(node, ast.Expr)]
    assert {ast.dump(node) for node in tree.body} == {ast.dump(node) for node in wanted}


def test_an_open_fence_may_be_followed_by_prose() -> None:
    code = extract_program(f"```python\n{PLAIN}\nIt prefers near neighbours, as you see.", "heuristics")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(PLAIN))


def test_fences_may_share_a_line_with_prose_and_code() -> None:
    assert extract_program(f"My answer: ```python\n{PLAIN.rstrip()}```", "heuristics") == PLAIN


def test_a_docstring_may_hold_fences() -> None:
    program = 'def heuristics(x):\n    """Weigh.\n\n    ```python\n    heuristics(x)\n    ```\n    """\n    return x\n'
    assert extract_program(f"Here:\n```python\n{program}```\nDone.", "heuristics") == program


def test_a_new_tagged_fence_ends_a_block_that_was_not_closed() -> None:
    assert extract_program(f"```\nsome notes\n```python\n{PLAIN}```", "heuristics") == PLAIN


def test_of_several_programs_the_last_that_parses_is_taken() -> None:
    first, last = PLAIN.replace("1.0", "2.0"), PLAIN.replace("1.0", "3.0")
    use, broken = "```\nprint(heuristics(d))\n```", "```\ndef heuristics(\n```"
    reply = f"```\n{first}```\nBetter:\n```\n{last}```\nUse it so:\n{use}\n{broken}"
    assert extract_program(reply, "heuristics") == last


def test_helpers_and_imports_of_other_blocks_are_put_before_the_program() -> None:
    helper = "import numpy as np\nEPS = 1e-9\ndef inverse(x):\n    return 1 / (x + EPS)\ndef unused(): pass\n"
    program = "def heuristics(d): return inverse(np.abs(d)) * sqrt(2)\n"
    reply = f"```\nfrom math import sqrt\n```\n```\n{helper}```\n```\n{program}```"
    code = extract_program(reply, "heuristics")
    space: dict[str, object] = {}
    exec(code, space)
    assert space["heuristics"](3.0) == pytest.approx(2**0.5 / 3)  # type: ignore[operator]
    assert "unused" not in code


def test_what_only_the_parent_holds_is_taken_over_from_it() -> None:
    changed = "def heuristics(distances):\n    return SCALE * rank(distances)\n"
    code = extract_program(f"```python\n{changed}```", "heuristics", HELPED)
    tree = ast.parse(code)
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["rank", "heuristics"]
    assert "import numpy as np" in code
    assert "SCALE = 0.5" in code
    assert "sqrt" not in code  # no longer used


def test_a_helper_of_the_reply_goes_before_its_namesake_in_the_parent() -> None:
    reply = "```\ndef rank(row): return 7\n```\n```\ndef heuristics(d): return rank(d)\n```"
    space: dict[str, object] = {}
    exec(extract_program(reply, "heuristics", HELPED), space)
    assert space["heuristics"](1) == 7  # type: ignore[operator]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return np.exp(x)", "import numpy as np"),
        ("return math.exp(x)", "import math"),
        ("return torch.exp(x)", "import torch"),
    ],
)
def test_a_forgotten_import_is_added_once(body: str, line: str) -> None:
    code = extract_program(f"```\ndef heuristics(x):\n    {body}\n```", "heuristics")
    assert code.split("\n")[0] == line
    assert extract_program(f"```\n{code}```", "heuristics") == code


def test_a_name_that_the_program_defines_itself_is_not_imported() -> None:
    program = "def heuristics(np, y):\n    math = np + y\n    return math\n"
    assert extract_program(f"```\n{program}```", "heuristics") == program


def test_an_added_import_stands_behind_the_docstring_and_the_future() -> None:
    program = '"""Doc."""\nfrom __future__ import annotations\ndef heuristics(x: List[int]):\n    return np.sum(x)\n'
    code = extract_program(f"```\n{program}```", "heuristics")
    compile(code, "candidate", "exec")  # a future import further down would not compile
    assert ast.get_docstring(ast.parse(code)) == "Doc."
    assert "from typing import List" in code


def test_a_syntax_error_names_its_line_and_text() -> None:
    assert fail("```\nimport math\n\ndef heuristics(x):\n    return math.exp(x))\n```") == (
        "syntax error in line 4: unmatched ')': 'return math.exp(x))'"
    )


def test_a_stray_backslash_is_no_error() -> None:
    program = 'def heuristics(x):\n    return "\\d"\n'
    assert extract_program(f"```\n{program}```", "heuristics") == program


def test_a_cut_block_says_so() -> None:
    assert "cut off" in fail("```python\ndef heuristics(x):\n    return (x +")


def test_another_name_is_told() -> None:
    assert fail("```\ndef heuristic(x):\n    return x\n```") == (
        "the reply defines 'heuristic', expected a function 'heuristics' at the top level"
    )


def test_a_method_is_no_function() -> None:
    assert "'Solver'" in fail("```\nclass Solver:\n    def heuristics(self, x):\n        return x\n```")
    assert "'Solver'" in fail("class Solver:\n    def heuristics(self, x):\n        return x\n")


def test_a_class_of_the_wanted_name_is_no_function() -> None:
    assert "expected a function 'heuristics'" in fail("```\nclass heuristics:\n    pass\n```")


def test_a_second_version_may_lean_on_the_helpers_of_the_first() -> None:
    first = "def near(d):\n    return 1 / d\n\n\ndef heuristics(d):\n    return near(d)\n"
    space: dict[str, object] = {}
    exec(extract_program(f"```\n{first}```\n```\ndef heuristics(d): return 2 * near(d)\n```", "heuristics"), space)
    assert space["heuristics"](4.0) == 0.5  # type: ignore[operator]


@pytest.mark.parametrize("body", ["    x = 1\n    return x", "return 1 / distances"])
def test_a_bare_body_is_told(body: str) -> None:
    assert "only its body" in fail(f"```python\n{body}\n```")


@pytest.mark.parametrize(
    "text", ["", " \n\t", "<think>hmm</think>", "<think>cut within thoughts: def heuristics(x): ..."]
)
def test_an_empty_reply_is_told(text: str) -> None:
    assert "empty" in fail(text)


@pytest.mark.parametrize("text", ["I cannot help with that.", "Use a greedy rule.\n\nIt = good."])
def test_a_reply_without_code_is_told(text: str) -> None:
    assert "no code" in fail(text)


@pytest.mark.parametrize(
    "nest",
    [
        "(" * 300,
        "-" * 200_000 + "1",
        "(" * 150 + ")" * 150,
        "lambda:" * 20_000 + "1",
        "a" + ".b" * 50_000,
        "not " * 5_000,
    ],
    ids=lambda nest: nest[:8],
)
def test_deep_nesting_is_at_worst_an_error_of_the_reply(nest: str) -> None:
    with contextlib.suppress(ReplyError):
        assert "heuristics" in extract_code(f"```\nX = {nest}\ndef heuristics(x): return x\n```", "heuristics")


pieces = st.sampled_from(
    [
        *[
            "```",
            "```python\n",
            "~~~",
            "\n",
            "def",
            "heuristics(x):",
            "return",
            "import",
            "@",
            "(",
            "'",
            "{",
            "\\",
            "<think>",
            "</think>",
        ],
        *["    ", '"""', "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "\0", "\ud800", "\f", "\r"],
    ]
)


@given(st.text() | st.lists(pieces | st.text(max_size=3), max_size=40).map("".join), st.none() | st.just(PLAIN))
def test_any_text_gives_a_program_or_a_reply_error(text: str, parent: str | None) -> None:
    try:
        code = extract_code(text, "heuristics", parent)
    except ReplyError:
        return
    tree = ast.parse(code)
    assert any(isinstance(node, ast.FunctionDef) and node.name == "heuristics" for node in tree.body)
    assert code.endswith("\n")
    assert not code.endswith("\n\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["```\n", "<think>", "</think>", "x = (\n", "def f(\n", "<<<<<<< SEARCH\n", "`", "@a\n"]
)
def test_a_long_reply_is_read_in_little_time(part: str) -> None:
    begin = time.process_time()
    fail(part * 20_000)
    assert time.process_time() - begin < 3.0


@pytest.mark.parametrize("mark", ["````", "``````", "~~~~"])
def test_a_longer_fence_holds_shorter_ones(mark: str) -> None:
    program = (
        'def heuristics(distances):\n    """Such as\n    ```python\n    x\n    ```\n    """\n    return distances\n'
    )
    assert extract_program(f"Here it is\n{mark}python\n{program}{mark}\nwhich is short", "heuristics") == program


@given(st.text("`a\n ", max_size=30))
def test_what_is_fenced_comes_back_as_it_was(text: str) -> None:
    found, outside = fenced_blocks(fence_text(text, "python"))
    assert [block.text for block in found] == [textwrap.dedent(text).strip("\n")]
    assert all(block.closed for block in found)
    assert outside == ""


def test_a_helper_alone_takes_the_place_of_the_parents_own() -> None:
    parent = "import math\n\ndef near(x):\n    return x\n\ndef f(x):\n    return near(x) + math.pi\n"
    reply = "Only the helper changes:\n```python\ndef near(x):\n    return 2 * x\n```"
    source = extract_program(reply, "f", parent)
    space: dict = {}
    exec(source, space)
    assert space["f"](1) == pytest.approx(2 + 3.141592653589793)
    assert source.count("def near") == 1
    with pytest.raises(ReplyError):
        extract_program("```python\ndef other(x):\n    return 2 * x\n```", "f", parent)


@pytest.mark.parametrize(
    ("old", "new"),
    [("    return 1.0 / x", "the new lines"), ("    return 1.0 / x", "    return f("), ("    return 9", "    x")],
)
def test_a_whole_program_counts_where_the_edit_beside_it_is_of_no_use(old: str, new: str) -> None:
    parent, whole = (f"def f(x):\n    return {number} / x\n" for number in ("1.0", "2.0"))
    useless = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
    for reply in (f"Here:\n```python\n{whole}```\n{useless}", f"{useless}\n```python\n{whole}```"):
        assert extract_program(reply, "f", parent) == whole
    for reply in (useless, f"```\n{useless}\n```"):
        with pytest.raises(ReplyError):
            extract_program(reply, "f", parent)
    good = useless.replace(old, "    return 1.0 / x").replace(new, "    return 3.0 / x")
    assert "3.0 / x" in extract_program(f"```python\n{whole}```\n{good}", "f", parent)


def test_an_edit_that_misses_is_answered_with_the_nearest_lines() -> None:
    parent = "def f(x):\n    a = 3.0 * x + 1\n    return a\n"
    reply = "<<<<<<< SEARCH\n    a = 3.5 * x + 1\n=======\n    a = x\n>>>>>>> REPLACE"
    with pytest.raises(ReplyError, match=r"nearest lines of the parent are:\n    a = 3\.0 \* x \+ 1$"):
        extract_program(reply, "f", parent)
    far = reply.replace("a = 3.5 * x + 1", "while True: break")
    with pytest.raises(ReplyError) as caught:
        extract_program(far, "f", parent)
    assert "nearest" not in str(caught.value)


PARENT = """import numpy as np
from numba import njit

WINDOW = 3


@njit
def helper(x):
    return x + WINDOW


def priority(x):
    return helper(x)
"""


def test_functions_and_constants_of_a_reply_take_the_place_of_those_of_the_same_name() -> None:
    reply = "```python\nimport math\n\nWINDOW = 5\n\n\ndef other(x):\n    return math.floor(x)\n\n\n@njit\ndef helper(x):\n    return x * WINDOW\n```"
    changed = extract_program(reply, "priority", PARENT)
    order = [
        "import math",
        "import numpy",
        "def other",
        "WINDOW = 5",
        "@njit\ndef helper(x):\n    return x * W",
        "def priority",
    ]
    assert [changed.count(text) for text in order] == [1] * len(order)
    assert changed.index("from numba") < changed.index("@njit") < changed.index("def priority")
    assert changed.index("WINDOW = 5") < changed.index("def helper")
    assert "WINDOW = 3" not in changed
    assert "x + WINDOW" not in changed


def test_a_constant_alone_may_be_replaced() -> None:
    assert extract_program("```python\nWINDOW = 9\n```", "priority", PARENT) == PARENT.replace(
        "WINDOW = 3", "WINDOW = 9"
    )


def test_a_reply_without_its_edits_is_the_rest() -> None:
    edit = "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE"
    assert without_edits(f"a\n{edit}\nd\n{edit}\n{edit}\ne") == "a\nd\ne"
    assert without_edits("a\n<<<<<<< SEARCH\nb") == "a"
    assert without_edits("a\n>>>>>>> REPLACE\nb") == "a\n>>>>>>> REPLACE\nb"


def test_blocks_without_an_end_are_marked() -> None:
    blocks, outside = fenced_blocks("a ```\nb\n```python\nc\n```\nd\n~~~\ne")
    assert [(block.text, block.closed) for block in blocks] == [("b", False), ("c", True), ("e", False)]
    assert outside.split("\n") == ["a ", "d", ""]


def test_a_reply_without_the_program_is_answered_with_what_is_wanted() -> None:
    for reply in ("", "none", "```\n# nothing\n```", "```\nx = 1\n```"):
        assert "def heuristics(" in fail(reply)
