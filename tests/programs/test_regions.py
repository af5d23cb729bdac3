"""Fixed text stays as it is in every candidate, and what may change goes to its block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError, ProblemError
from oragent.programs import inspection, parser_client
from oragent.programs.inspection import fit_to_frame
from oragent.programs.parser_client import ParseLimitExceeded
from oragent.programs.regions import extract_blocks, fill_frame, has_markers, split_frame, spread_program
from oragent.programs.syntax import Signature

START, END = "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n"
FIRST = "LIMIT = 3\n\n\ndef scale(x):\n    return x * LIMIT\n"
SECOND = "def shift(x):\n    return x + 1\n"
SEED = f'''"""Doc."""
import math
FACTOR: int = 2
{START}{FIRST}{END}

def fixed(x):
    return scale(x) + math.pi * FACTOR

{START}{SECOND}{END}
if __name__ == "__main__":
    result = fixed(1)
'''
FRAME = split_frame(SEED)
WANTED = Signature("scale", ("x",), "def scale(x):", frame=FRAME)


def test_a_frame_alternates_fixed_text_and_blocks() -> None:
    assert "".join(FRAME) == SEED
    assert FRAME[1::2] == (FIRST, SECOND)
    assert split_frame("def f(x):\n    return x\n") == ()
    assert split_frame(f"{START}{END}") == (START, "", END)
    marked = "  // EVOLVE-BLOCK-START here\nint x;\n\t//EVOLVE-BLOCK-END"
    assert split_frame(marked)[1] == "int x;\n"


@pytest.mark.parametrize(
    "marks", [START, END, END + START, START + START + END + END, START + END + START, START + END + END]
)
def test_markers_that_are_not_paired_are_refused(marks: str) -> None:
    assert has_markers(marks)
    with pytest.raises(ProblemError):
        split_frame(marks)
    for source in (marks, FIRST + marks):
        with pytest.raises(CandidateError) as caught:
            fit_to_frame(source, WANTED)
        assert f"{len(FRAME) // 2} blocks" in str(caught.value)


TEXTS = st.lists(st.sampled_from(["", "x = 1\n", "\n", "# a comment\n", "def f():\n    pass\n"]), max_size=3).map(
    "".join
)


@given(TEXTS, TEXTS, TEXTS)
def test_a_candidate_keeps_its_blocks_and_gets_the_fixed_text(first: str, second: str, other: str) -> None:
    candidate = f"{other}{START}{first}{END}{other}{START}{second}{END}{other}"
    fitted = fit_to_frame(candidate, WANTED)
    assert fitted == SEED.replace(FIRST, first).replace(SECOND, second)
    assert fit_to_frame(fitted, WANTED) == fitted
    assert extract_blocks(fitted, FRAME) == [first, second]
    with pytest.raises(CandidateError):
        fit_to_frame(f"{START}{first}{END}", WANTED)


def test_a_block_without_an_end_of_line_gets_one() -> None:
    assert fill_frame(FRAME, ["x = 1", ""]) == SEED.replace(FIRST, "x = 1\n").replace(SECOND, "")


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        (SEED, (FIRST, SECOND)),
        # Each statement goes to the block that defines its name, a new one to that of the next statement.
        (f"{SECOND}{FIRST}", (FIRST, SECOND)),
        (f"new = 1\n{FIRST}more = 2\n{SECOND}last = 3\n", (f"new = 1\n\n\n{FIRST}", f"more = 2\n\n\n{SECOND}\n\nlast = 3\n")),
        ("import os, math\nfrom math import pi as p\ndef shift(x):\n    return os\n", ("", "import os, math\n\n\nfrom math import pi as p\n\n\ndef shift(x):\n    return os\n")),
        # What the frame fixes, texts and code at the end are dropped.
        ("'Doc.'\nimport math\nFACTOR = 7\nprint(1)\ndef fixed(x): pass\nif __name__ == '__main__':\n    y = 1\n", ("", "")),
        ("new = 1\n", ("new = 1\n", "")),
        # All that binds a name at the top level has one.
        ("if 1:\n    LIMIT = 4\nelse:\n    LIMIT = 5\n", ("if 1:\n    LIMIT = 4\nelse:\n    LIMIT = 5\n", "")),
        ("try:\n    import a.b\nexcept E:\n    shift = None\n", ("", "try:\n    import a.b\nexcept E:\n    shift = None\n")),
        ("with x:\n    (LIMIT, y[0]), z = 1\n", ("with x:\n    (LIMIT, y[0]), z = 1\n", "")),
        ("class shift:\n    pass\n", ("", "class shift:\n    pass\n")),
        # Of several names the first in the alphabet counts.
        ("z = shift = LIMIT = x = 4\n", ("z = shift = LIMIT = x = 4\n", "")),
        ("from a import (scale, shift, y, w)\n", ("from a import (scale, shift, y, w)\n", "")),
        ("async def shift(): pass\n", ("", "async def shift(): pass\n")),
        ("LIMIT: int = 4\n", ("LIMIT: int = 4\n", "")),
        ("@a\n@b\ndef shift(x): pass\n", ("", "@a\n@b\ndef shift(x): pass\n")),
    ],
)  # fmt: skip
def test_a_program_without_markers_is_divided_by_its_names(source: str, blocks: tuple[str, str]) -> None:
    plain = source.replace(START, "").replace(END, "")
    assert tuple(spread_program(plain, FRAME)) == tuple(block and block.rstrip("\n") + "\n" for block in blocks)
    assert fit_to_frame(plain, WANTED) == fill_frame(FRAME, spread_program(plain, FRAME))


def test_the_process_that_parses_and_this_one_divide_a_program_alike() -> None:
    source = f"new = 4711\n{FIRST}"
    assert not inspection.is_safe(source)
    fitted = fit_to_frame(source, WANTED)
    inspection.mark_safe(source)
    assert fit_to_frame(source, WANTED) == fitted == SEED.replace(FIRST, f"new = 4711\n\n\n{FIRST}").replace(SECOND, "")
    assert inspection.is_safe(fitted)


@pytest.mark.parametrize("source", ["def scale(x:\n", "x = '\udcff'", "x = " + "-" * 200 + "1", "\0"])
def test_a_text_that_cannot_be_divided_is_rejected(source: str) -> None:
    with pytest.raises(CandidateError) as caught:
        fit_to_frame(source, WANTED)
    assert caught.value.status == "rejected"


def test_a_program_of_another_language_needs_markers() -> None:
    wanted = Signature("f", (), "int f()", language="cpp", frame=split_frame(f"int x;\n{START}int f() {{}}\n{END}"))
    assert fit_to_frame(f"{START}int g() {{}}\n{END}", wanted) == f"int x;\n{START}int g() {{}}\n{END}"
    with pytest.raises(CandidateError):
        fit_to_frame("int f() {}\n", wanted)


def test_a_statement_that_binds_all_that_is_fixed_is_dropped() -> None:
    assert spread_program("import math\nx = 1\n", ["import math\n", "x = 0\n", ""]) == ["x = 1\n"]


def test_a_program_without_a_frame_stays() -> None:
    assert fit_to_frame("def (", Signature("scale", ("x",), "def scale(x):")) == "def ("


@pytest.mark.parametrize("answer", [{}, {"blocks": "ab"}, {"blocks": ["a"]}, {"problem": "no"}, None])
def test_answers_of_another_form_are_rejections(answer: dict[str, object] | None, monkeypatch) -> None:
    def ask(kind: str, **fields: object) -> dict[str, object]:
        if answer is None:
            raise ParseLimitExceeded("too long")
        return answer

    monkeypatch.setattr(parser_client, "request", ask)
    with pytest.raises(CandidateError):
        fit_to_frame(f"{FIRST}# {answer}\n", WANTED)
