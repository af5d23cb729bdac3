"""Programs of several files as one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.programs.multi_file import file_names, join_files, split_files, with_main
from oragent.programs.parser_worker import inspect_local
from oragent.programs.syntax import Signature

NAMES = ("main.py", "rules.py", "more.cpp")
LINES = st.lists(st.sampled_from(["x = 1", "", "# file: rules.py", "# -- file: rules.py --", "    y"]), max_size=4)


@given(st.lists(LINES.map("\n".join).map(str.strip), min_size=3, max_size=3))
def test_what_was_joined_is_split_again(texts: list[str]) -> None:
    files = {name: f"{text}\n" for name, text in zip(NAMES, texts, strict=True)}
    joined = join_files(files)
    assert split_files(joined, NAMES) == files
    assert file_names(joined) == NAMES[1:]
    assert joined.endswith("\n")


def test_a_single_file_is_its_text() -> None:
    source = "\n# ---- file: rules.py ----\nx = 1"
    assert join_files({"main.py": source}) == source
    assert split_files(source, ("main.py",)) == {"main.py": source}


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("a\n#--- file:rules.py ---\nb", ("a", "b")),
        ("a\n// ------ file: rules.py ----  \nb", ("a", "b")),
        # Files that are not wanted stay part of the file above them, and the last one of a name counts.
        ("a\n# ---- file: other.py ----\nb\n# ---- file: rules.py ----\nc", ("a\n# ---- file: other.py ----\nb", "c")),
        ("a\n# ---- file: rules.py ----\nb\n# ---- file: rules.py ----\nc", ("a", "c")),
        ("# ---- file: rules.py ----\n\n\nb\n\n", ("", "b")),
        ("a", ("a", None)),
    ],
)
def test_a_text_is_cut_at_the_lines_with_wanted_names(source: str, files: tuple[str, str | None]) -> None:
    wanted = {name: f"{text}\n" for name, text in zip(NAMES, files, strict=False) if text is not None}
    assert split_files(source, NAMES[:2]) == wanted


def test_a_change_of_the_main_file_leaves_the_others() -> None:
    source = join_files({"main.py": "a\n", "rules.py": "a\n"})
    assert with_main(source, NAMES[:2], str.upper) == join_files({"main.py": "A\n", "rules.py": "a\n"})


WANTED = Signature("f", ("x",), "def f(x):", others=(Signature("g", ("y",), "def g(y):"),), files=NAMES[:2])
MAIN, RULES = "def f(x):\n    z = x\n    return z\n", "class A:\n    pass\n\n\ndef g(y):\n    return y\n"


def join(main: str, rules: str) -> str:
    return join_files({"main.py": main, "rules.py": rules})


def test_files_are_normalised_and_counted_one_by_one() -> None:
    inspected = inspect_local(join(MAIN, RULES), WANTED)
    assert inspected.problem == ""
    parts = [
        inspect_local(MAIN, Signature("f", ("x",), "def f(x):")),
        inspect_local(RULES, Signature("g", ("y",), "def g(y):")),
    ]
    assert inspected.length == sum(part.length for part in parts)
    same = inspect_local(join(MAIN.replace("z", "other"), f"# a comment\n{RULES}"), WANTED)
    assert same == inspected
    for changed in (join(MAIN, RULES.replace("A", "B")), join(MAIN.replace("= x", "= 1"), RULES)):
        assert inspect_local(changed, WANTED).fingerprint != inspected.fingerprint


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (MAIN, "rules.py"),
        (join("def (\n", RULES), "main.py"),
        (join(MAIN, "def (\n"), "rules.py"),
        (join(MAIN, "def h(y): pass\n"), "function g"),
        (join("def f(y): pass\n", RULES), "f(y)"),
    ],
)
def test_a_file_that_is_missing_or_wrong_is_named(source: str, word: str) -> None:
    inspected = inspect_local(source, WANTED)
    assert word in inspected.problem
    assert (inspected.canonical, inspected.length) == (source, 0)
