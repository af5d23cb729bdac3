"""Parts of the variation of programs: finished drafts, unread variables, imports, and weights of operators."""

import ast
import math
import re
from collections import Counter

import numpy as np
import pytest

from oragent._base.ast_utils import all_nodes
from oragent.programs.syntax import canonical_form
from oragent.search.genetics import draft as drafts
from oragent.search.genetics import growth, variation

HEAD = "import numpy as np\n\ndef f(d: np.ndarray):\n"


def given(source: str) -> variation._Given:
    return variation._analyse_parent(source, "f")


@pytest.mark.parametrize(
    ("body", "room", "finished"),
    [
        ("return d * 3", 0, True),
        ("return d * 3", 9, True),
        ("return d * 3", -1, False),
        ("return unknown * 3", 9, False),
        ("return unknown * 3", -1, False),
        ("return d * 2", 9, False),
        ("return len(d) * __name__", 0, True),
    ],
)
def test_a_finished_draft_is_new_short_and_has_bound_names(body: str, room: int, finished: bool) -> None:
    tree = ast.parse(f"{HEAD}    {body}\n")
    size = len(all_nodes(tree))
    text = variation._finish_draft(tree, given(f"{HEAD}    return d * 2\n"), size + room)
    assert (text != "") == finished
    if finished:
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(f"{HEAD}    {body}\n"))


def test_a_draft_is_not_new_if_it_equals_its_parent_without_unread_variables() -> None:
    parent = f"{HEAD}    unread = d + 1\n    return d * 2\n"
    assert given(parent).known == (canonical_form(parent, "f"), canonical_form(f"{HEAD}    return d * 2\n", "f"))
    assert "unread" not in given(parent).source
    for body in ("unread = d + 1\n    return d * 2", "return d * 2"):
        assert not variation._finish_draft(ast.parse(f"{HEAD}    {body}\n"), given(parent), 99)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = 1\n    b = a\n    return d", "return d"),
        ("a = 1\n    b = a\n    return b", "a = 1\n    b = a\n    return b"),
        ("a = np.exp(d)\n    return d", "return d"),
        ("a = draw(d)\n    return d", "a = draw(d)\n    return d"),
        ("a = 1\n    b = draw(a)\n    return d", "a = 1\n    b = draw(a)\n    return d"),
        ("if d:\n        a = 1\n    return d", "if d:\n        pass\n    return d"),
        ("for i in d:\n        a = i\n        d = d + i\n    return d", "for i in d:\n        d = d + i\n    return d"),
        ("global a\n    a = 1\n    return d", "global a\n    a = 1\n    return d"),
        ("a, b = 1, 2\n    return d", "a, b = 1, 2\n    return d"),
        ("a = b = 1\n    return d", "a = b = 1\n    return d"),
    ],
)
def test_assignments_that_nothing_reads_and_that_do_nothing_are_dropped(body: str, left: str) -> None:
    tree = ast.parse(f"{HEAD}    {body}\n")
    assert variation._prune_unread(tree) == (body != left)
    assert ast.unparse(tree) == ast.unparse(ast.parse(f"{HEAD}    {left}\n"))


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("def f(x):\n    return np.exp(x)\n", "import numpy as np\n\ndef f(x):\n    return np.exp(x)\n"),
        ("def f(x):\n    return math.exp(x)\n", "import math\n\ndef f(x):\n    return math.exp(x)\n"),
        (
            '"""T."""\ndef f(x):\n    return torch.exp(x)\n',
            '"""T."""\nimport torch\ndef f(x):\n    return torch.exp(x)\n',
        ),
        (
            '"""T."""\nfrom __future__ import annotations\ndef f(x):\n    return np.exp(x)\n',
            '"""T."""\nfrom __future__ import annotations\nimport numpy as np\ndef f(x):\n    return np.exp(x)\n',
        ),
        ("from a import np\ndef f(x):\n    return np.exp(x)\n", "from a import np\ndef f(x):\n    return np.exp(x)\n"),
        (
            "from a import b\ndef f(x):\n    return np.exp(b)\n",
            "import numpy as np\nfrom a import b\ndef f(x):\n    return np.exp(b)\n",
        ),
        ("def f(np):\n    return np.exp(1)\n", "def f(np):\n    return np.exp(1)\n"),
        ("def f(x):\n    return x\n", "def f(x):\n    return x\n"),
    ],
)
def test_missing_modules_are_imported_after_the_header(source: str, imported: str) -> None:
    tree = ast.parse(source)
    variation._import_missing(tree)
    assert ast.unparse(tree) == ast.unparse(ast.parse(imported))


@pytest.mark.parametrize("fullness", [0.0, 0.5, 1.0])
def test_large_programs_shrink_more_often(fullness: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each operator finds a place, except the first one.
    names = list(variation._STEPS)
    absent = next(name for name in names if name != "delete")
    steps = {name: (lambda draft, name=name: name != absent, weight) for name, (_, weight) in variation._STEPS.items()}
    monkeypatch.setattr(variation, "_STEPS", steps)
    counted: Counter[str] = Counter()
    for seed in range(1500):
        draft = drafts.Draft(ast.parse(f"{HEAD}    return d\n"), "f", (), None, np.random.default_rng(seed))
        counted[variation._apply_operator(draft, fullness)] += 1
    weights = {name: weight * (1 + 16 * fullness**2 * (name == "delete")) for name, (_, weight) in steps.items()}
    total = sum(weights.values()) - weights[absent]
    for name in names:
        expected = 0 if name == absent else weights[name] / total
        assert counted[name] / 1500 == pytest.approx(expected, abs=0.05)
    monkeypatch.setattr(variation, "_STEPS", {name: (lambda draft: False, 1.0) for name in names})
    assert variation._apply_operator(draft, fullness) == ""


def last_resorts(source: str) -> set[str]:
    found = set()
    for seed in range(200):
        child = variation._last_resort(given(source), (), np.random.default_rng(seed))
        assert child.operator == "wrap"
        found.add(ast.unparse(ast.parse(child.source).body[-1].body[-1]))
    return found


def test_the_last_resort_wraps_a_result_or_multiplies_one() -> None:
    def without_numbers(texts: set[str]) -> set[str]:
        return {re.sub(r"\d+\.?\d*(e-?\d+)?", "#", text) for text in texts}

    assert any("np.tanh(d)" in text for text in last_resorts(f"{HEAD}    return d\n"))
    assert without_numbers(last_resorts("def f(d):\n    return (d, [d])\n")) == {
        "return (d * #, [d])",
        "return (d, [d] * #)",
    }
    assert without_numbers(last_resorts("def f(d):\n    return ()\n")) == {"return () * #"}
    assert without_numbers(last_resorts("def f(d):\n    pass\n")) == {"return #"}
    assert without_numbers(last_resorts("def f(d):\n    return\n")) == {"return #"}


def test_five_expressions_of_a_mate_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of all expressions of the mate, only the innermost one is small enough.
    monkeypatch.setattr(growth, "MAX_GRAFT", 1)
    mate = ast.parse(f"{HEAD}    return {'np.exp(' * 7}d{')' * 7}\n")
    found = 0
    for seed in range(1200):
        draft = drafts.Draft(ast.parse(""), "f", (), None, np.random.default_rng(seed))
        donation = growth._draw_donation(draft, mate)
        assert donation is None or ast.unparse(donation) == "d"
        found += donation is not None
    assert found / 1200 == pytest.approx(1 - math.comb(7, 5) / math.comb(8, 5), abs=0.05)


def test_definitions_of_a_mate_are_written_out_four_deep() -> None:
    lines = [f"v{number} = np.exp(v{number - 1})" for number in range(1, 7)]
    mate = ast.parse(f"{HEAD}    v0 = np.sqrt(d)\n    " + "\n    ".join([*lines, "return v6 + 1", ""]))
    found = set()
    for seed in range(60):
        draft = drafts.Draft(ast.parse(""), "f", (), None, np.random.default_rng(seed))
        donation = growth._draw_donation(draft, mate)
        found.add(ast.unparse(donation) if donation else "")
    assert f"{'np.exp(' * 4}v2{')' * 4} + 1" in found
    assert f"{'np.exp(' * 3}np.sqrt(d){')' * 3}" in found


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("a = d\n    b = a\n    return b", {"a": "d", "b": "a"}),
        ("a = d\n    a = 2\n    return a", {}),
        ("a = d\n    a += 2\n    return a", {}),
        ("d = d + 1\n    return d", {}),
        ("a: int = 3\n    return a", {}),
        ("a, b = d\n    return a", {}),
        ("if d:\n        a = 1\n    b = 2\n    return b", {"b": "2"}),
        ("for a in d:\n        b = a\n    c = a\n    return c", {"c": "a"}),
    ],
)
def test_a_variable_that_is_assigned_once_is_defined_by_its_value(body: str, names: dict[str, str]) -> None:
    tree = ast.parse(f"def f(x):\n    z = 1\n{HEAD}    {body}\ndef g(x):\n    y = 1\n")
    found = growth._single_assignments(tree, "f")
    assert {name: ast.unparse(value) for name, value in found.items()} == names
