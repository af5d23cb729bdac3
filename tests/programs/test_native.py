"""C++ programs as text: heads of functions, canonical forms, randomness and replies."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError, ProblemError, ReplyError
from oragent.programs import native, size_limits
from oragent.programs.extract import extract_program
from oragent.programs.inspection import find_unseeded
from oragent.programs.native import canonical_text, check_functions, count_words, documentation, signature_text
from oragent.programs.parser_worker import inspect_local
from oragent.programs.syntax import Signature

PROGRAM = """#include <vector>
#define TWICE(x) \\
    ((x) * 2)

/* double f(int) { is only a comment */
// Weigh items.
//   x: values, each 1.0 or more
std::vector<double> weigh(const std::vector<double>& x,
                          double capacity = 1e-3) {
    const char* text = "// no comment \\" /* none */";
    const char* raw = R"a(// "no" comment)a"; char c = '"'; // one
    return x; /* two
    lines */
}

double half(double y) { return y / 2; }
"""
WANTED = Signature(
    "weigh", ("x", "capacity"), "...", others=(Signature("half", ("y",), "..."),), language="cpp"
)  # fmt: skip


def test_the_head_and_the_comment_above_it_are_read() -> None:
    assert signature_text(PROGRAM, "weigh") == (
        "std::vector<double> weigh(const std::vector<double>& x, double capacity = 1e-3)"
    )
    assert signature_text(PROGRAM, "half") == "double half(double y)"
    assert documentation(PROGRAM, "weigh") == "is only a comment\nWeigh items.\n  x: values, each 1.0 or more".replace(
        "is only", "double f(int) { is only"
    )
    assert documentation(PROGRAM, "half") == documentation(PROGRAM, "absent") == ""
    assert documentation("/**\n * Doc.\n *   more\n */\nint f() {\n}", "f") == "Doc.\n  more"


@pytest.mark.parametrize(
    "head",
    ["double f(int);", "// double f(int) {", "x = f(int) {", "f(int) {", "double g() { f(int) {", "double F(int) {"],
)
def test_what_is_no_definition_is_no_function(head: str) -> None:
    with pytest.raises(ProblemError):
        signature_text(f"{head}\n", "f")
    with pytest.raises(CandidateError):
        check_functions(f"{head}\n", ("f",))


@pytest.mark.parametrize(
    "head", ["double f(int x) {", "  static int& f() const noexcept\n{", "std::map<int, A*> *f(int,\n int) {"]
)
def test_definitions_of_all_forms_are_functions(head: str) -> None:
    check_functions(f"{head}\n}}\n", ("f",))
    assert "f(" in signature_text(head, "f")


def test_all_functions_must_be_defined_within_the_limits() -> None:
    check_functions(PROGRAM, ("weigh", "half"))
    for source, functions in ((PROGRAM, ("weigh", "absent")), (PROGRAM + "/" * size_limits.MAX_BYTES, ("half",))):
        with pytest.raises(CandidateError) as caught:
            check_functions(source, functions)
        assert caught.value.status == "rejected"


def test_the_canonical_form_keeps_texts_and_directives() -> None:
    form = canonical_text(PROGRAM)
    assert form.split("\n") == [
        "#include <vector>",
        "#define TWICE(x) ((x) * 2)",
        "std :: vector < double > weigh ( const std :: vector < double > & x , double capacity = 1e-3 ) { "
        'const char * text = "// no comment \\" /* none */" ; const char * raw = R"a(// "no" comment)a" ; '
        "char c = '\"' ; return x ; } double half ( double y ) { return y / 2 ; }",
    ]


def test_words_and_signs_are_counted() -> None:
    assert count_words('int f(int x) { // a\n    return x /* b */ + 1.5e-3 + "c d"; }\n') == 15


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("int x;\n\n  int  y ;", "int x; /* a */ int y;// b", True),
        ("#define A 1\nint x;", "#define A 1 int x;", False),
        ("int x;\n#define A 1\nint y;", "int x;\n\n  #define A   1 \nint\ny;", True),
        ("  #define A   1\nint\ny;", "#define A 1\n\n\nint y;", True),
        ("#define A (1)\nint y;", "#define A(1)\nint y;", False),
        ('R"(a\nb c)"', 'R"(a\nb  c)"', False),
        ("x = a+++b;", "x = a++ + b;", True),
        ("x = a - -b;", "x = a--b;", False),
        ("x >>= 1;", "x > > = 1;", False),
        ("a->b", "a - > b", False),
        ('"a b"', '"a  b"', False),
        ("1.5e-3", "1.5e - 3", False),
        ("int xy;", "int x y;", False),
    ],
)
def test_layout_and_comments_make_no_difference(first: str, second: str, same: bool) -> None:
    assert (canonical_text(first) == canonical_text(second)) is same
    assert canonical_text(canonical_text(first)) == canonical_text(first)


@given(st.lists(st.sampled_from([*"/*\"\\\n'R()#a1. ", "//", "/*", "*/", 'R"a(', ')a"']), max_size=25).map("".join))
def test_pieces_of_any_text_make_the_text(text: str) -> None:
    assert "".join(match[0] for match in native.PIECE.finditer(text)) == text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler for C++ here")
def test_the_canonical_form_compiles_to_the_same_program(tmp_path: Path) -> None:
    outputs = []
    for name, source in (("a", PROGRAM), ("b", canonical_text(PROGRAM))):
        main = '\n#include <cstdio>\nint main() { printf("%g %zu", half(TWICE(3)), weigh({1, 2}).size()); }\n'
        (tmp_path / f"{name}.cpp").write_text(source + main)
        subprocess.run(["g++", "-o", tmp_path / name, tmp_path / f"{name}.cpp"], check=True)
        outputs.append(subprocess.run([tmp_path / name], capture_output=True, check=True).stdout)
    assert outputs == [b"3 2"] * 2


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("std::random_device source;", "random_device is random"),
        ("getrandom(x, 1, 0);", "getrandom is random"),
        ("std::mt19937 g(time( NULL ));", "time( NULL ) reads the clock"),
        ("auto t = std::chrono::steady_clock::now();", "steady_clock reads the clock"),
        ("// std::random_device", ""),
        ("std::mt19937 g(7); int runtime = 1;", ""),
    ],
)
def test_randomness_without_a_seed_is_found(line: str, word: str) -> None:
    found = find_unseeded(f"int f() {{\n{line}\n}}\n", "cpp")
    assert found.startswith(word)
    assert bool(found) is bool(word)


HALF, WEIGH = "double half(double y) {\n    return y / 3;\n}\n", PROGRAM.partition("\n\ndouble half")[0] + "\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"```cpp\n{PROGRAM}```",
        PROGRAM,
        f"First\n```\n{HALF}```\nand\n```cpp\n{WEIGH}{HALF}```\nthen\n```cpp\n{PROGRAM}```",
        f"<think>\n```\n{HALF}```\n</think>\n```c++\n{PROGRAM}\n\n```",
        f"```cpp\n{PROGRAM}```".replace("\n", "\r\n"),
        f"```\n```\n```cpp\n{PROGRAM}```\n```\n// {PROGRAM.splitlines()[-1]}\n```",
    ],
)
def test_the_last_block_with_all_functions_is_the_program(reply: str) -> None:
    assert extract_program(reply, "weigh", None, WANTED) == PROGRAM


def test_edits_change_the_parent() -> None:
    reply = "<<<<<<< SEARCH\ny / 2\n=======\ny / 4\n>>>>>>> REPLACE"
    assert extract_program(reply, "weigh", PROGRAM, WANTED) == PROGRAM.replace("y / 2", "y / 4")


@pytest.mark.parametrize(
    ("reply", "parent"),
    [
        ("", None),
        ("<think>", None),
        (f"```cpp\n{HALF}```", None),
        (f"```cpp\n{HALF}```\n```cpp\n{WEIGH}```", None),
        ("<<<<<<< SEARCH\ny / 2\n=======\ny / 4\n>>>>>>> REPLACE", None),
        ("<<<<<<< SEARCH\ndouble half\n=======\ndouble third\n>>>>>>> REPLACE", PROGRAM),
        (f"```cpp\n{PROGRAM}// {'x' * size_limits.MAX_BYTES}\n```", None),
    ],
)
def test_a_reply_without_the_program_is_an_error(reply: str, parent: str | None) -> None:
    with pytest.raises(ReplyError) as caught:
        extract_program(reply, "weigh", parent, WANTED)
    assert "\n" not in str(caught.value)


def test_programs_are_inspected_without_a_compiler() -> None:
    inspected = inspect_local(PROGRAM, WANTED)
    assert (inspected.problem, inspected.canonical) == ("", canonical_text(PROGRAM))
    assert inspected.length == count_words(PROGRAM)
    missing = inspect_local(WEIGH, WANTED)
    assert "half" in missing.problem
    assert (missing.canonical, missing.length) == (WEIGH, 0)
