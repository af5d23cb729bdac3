"""Problems, data and interfaces out of files; what is wrong with one is said in one line, with file and line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError, OragentError, ProblemError, ReplyError
from oragent.formulate import data as data_module
from oragent.formulate import problem as problem_module
from oragent.formulate.api import formulate
from oragent.formulate.audit import find_mismatches
from oragent.formulate.data import (
    column_names,
    describe_data,
    describe_parts,
    is_table,
    iterate_leaves,
    iterate_texts,
    map_leaves,
    read_data,
)
from oragent.formulate.options import PRESETS, choose_options
from oragent.formulate.problem import (
    MAX_DATA_VALUES,
    Form,
    ProblemText,
    ProgramInterface,
    find_function,
    read_interface,
    read_problem,
)
from oragent.formulate.prompting import (
    MAX_CHARACTERS,
    CommentPool,
    PoolEntry,
    describe_library,
    extract_program,
    fence_headings,
)


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_problem_is_read_with_its_data_and_interface(tmp_path: Path) -> None:
    text = put(tmp_path, "mix.md", "\ufeffWhat to make?")
    data = [
        put(tmp_path, "d.json", '{"hours": 40, "rate": {"a": 1.5}}'),
        put(tmp_path, "products.csv", "name,price,stock\nbolt,2.5,10\nnut,nan,7\n"),
    ]
    own = put(tmp_path, "f.py", 'import os\ndef make(hours: float, rate=None):\n    """Doc."""\n')
    problem = read_problem(text, data, own)
    assert (problem.name, problem.text) == ("mix", "What to make?")
    assert problem.data["products"] == [
        {"name": "bolt", "price": 2.5, "stock": 10},
        {"name": "nut", "price": None, "stock": 7},
    ]
    assert (problem.interface.function, problem.interface.parameters) == ("make", ("hours", "rate"))
    assert problem.interface.arguments_for(problem.data) == [40, {"a": 1.5}]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("p.md", "  \n", "p.md: empty; expected a problem in words"),
        ("p.md", b"PK\0\3", "p.md: binary"),
        ("p.md", b"a\nb\n\xff", "p.md, line 3: not UTF-8"),
        ("d.json", '{"a": 1,\n "b": }', "d.json, line 2: not JSON"),
        ("d.json", '{"a": NaN}', "d.json: NaN is not a number"),
        ("d.json", "[" * 100_000, "d.json: not usable JSON"),
        ("d.csv", "a,b\n1,2\n3\n", "d.csv: line 3: 1 fields; expected 2"),
        ("d.csv", 'a,b\n"1,2\n', "d.csv: line 2: 1 fields"),
        ("d.xls", "x", "expected data in a file that ends in .json, .csv"),
        ("f.py", "x = 1\n", "no function"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused_in_one_line(tmp_path, name, content, told) -> None:
    path = put(tmp_path, name, content)
    good = put(tmp_path, "good.md", "What?")
    parts = {"p.md": (path, (), None), "f.py": (good, (), path)}.get(name, (good, (path,), None))
    with pytest.raises(ProblemError) as caught:
        read_problem(*parts)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_name_in_two_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"none\.md"):
        read_problem(tmp_path / "none.md")
    both = [put(tmp_path, name, '{"a": 1}') for name in ("one.json", "two.json")]
    with pytest.raises(ProblemError, match="'a'"):
        read_problem(put(tmp_path, "p.md", "What?"), both)


@pytest.mark.slow
def test_a_text_or_data_beyond_the_limits_are_refused_before_any_call(tmp_path: Path) -> None:
    calls = []

    def model(messages: list[dict[str, str]]) -> str:
        calls.append(messages)
        return ""

    with pytest.raises(ProblemError, match="200,000"):
        formulate("word word " * 900_000, model=model)
    with pytest.raises(ProblemError):
        formulate("What?", {"x": [0] * (MAX_DATA_VALUES + 1)}, model)
    path = put(tmp_path, "p.md", "word " * 50_000)
    with pytest.raises(ProblemError):
        read_problem(path)
    assert not calls


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"without": frozenset({"semantic_encodr"})}, "did you mean 'semantic_encoder'"),
        ({"extra": ("conducter",)}, "did you mean 'conductor'"),
        ({"repairs": -1}, "none below 0"),
        ({"temperature": 3.0}, "expected 0 to 2"),
    ],
)
def test_unknown_settings_name_the_nearest(changes, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        choose_options("default", **changes)
    with pytest.raises(ConfigError):
        choose_options("x")
    assert set(PRESETS) == {"default", "paper"}


def test_large_data_are_told_by_names_types_and_shapes() -> None:
    data = {"price": list(range(2000)), "by": {"a": 1.5, "b": 2.5}, "deep": {"x": {"y": [1, "a"]}}}
    assert dict(describe_parts(data)) == {
        "price": "list of 2000: integer", "by": "dict of 2 by 'a', 'b': number", "deep['x']['y']": "list of 2: integer or text",
    }  # fmt: skip
    assert "list of 2000" in describe_data(data)
    assert describe_data({}).startswith("none")
    assert describe_data({"a": 1}) == '{"a": 1}'


def test_data_are_held_against_the_types_that_were_read() -> None:
    said = {
        "a": {"Type": "integer, shape (3)", "Kind": "vector"}, "b": {"Type": "float", "Kind": "vector"},
        "c": {"Type": "vector"}, "d": "odd", "e": {"Type": "float", "Kind": "matrix"}, "none": {"Type": "float"},
    }  # fmt: skip
    data = {"a": [1, 2.5], "b": 2.0, "c": "x", "d": 1, "e": {"x": [1.0]}}
    assert find_mismatches(said, data) == [
        "a was read as integer, shape (3), and has 2.5", "a was read with 3 entries at index 1, and has 2",
        "b was read as a vector, and has 0 indices",
    ]  # fmt: skip


def test_data_are_held_against_the_shapes_that_were_read() -> None:
    said = {
        name: {"Type": f"array of float, shape: {shape}"}
        for name, shape in {"a": "(n, 2)", "b": "[m]", "c": "n x 3", "d": "(unknown, 9)", "e": "(2)"}.items()
    }
    data = {"n": 2, "m": 3, "a": [[1, 2], [3, 4]], "b": [1.0], "c": {"x": [1, 2, 3], "y": [1]}, "d": [1], "e": 5}
    assert find_mismatches(said, data) == [
        "b was read with m = 3 entries at index 1, and has 1", "c was read with 3 entries at index 2, and has 1 or 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("```python\nimport pulp\ndef solve(d):\n    return 1\n```", "import pulp\ndef solve(d):\n    return 1\n"),
        ("<think>def solve(x): no</think>```\ndef solve(d): return 2\n```", "def solve(d): return 2\n"),
        (
            "```python\ndef solve(d): return 1\n```\nBetter:\n```\ndef solve(d): return 2\n```",
            "def solve(d): return 2\n",
        ),
        ("```\nimport a\n```\n```\ndef solve(d): return 2\n```", "import a\n\ndef solve(d): return 2\n"),
        ("Here:\nimport pulp\ndef solve(d):\n    return 3\n", "import pulp\ndef solve(d):\n    return 3\n"),
        (
            "```python\ndef solve(d):\n    return 4 +",
            "def solve(d):\n    return 4 +\n",
        ),  # its error comes where it runs
    ],
)
def test_a_program_is_taken_out_of_a_reply_without_being_parsed(reply: str, source: str) -> None:
    assert extract_program(reply, "solve") == source


@pytest.mark.parametrize("reply", ["", "No.", "```python\ndef other(d): pass\n```", "def solve" * 100_000])
def test_a_reply_without_the_program_is_refused(reply: str) -> None:
    with pytest.raises(ReplyError):
        extract_program(reply, "solve")


def test_an_empty_problem_is_refused() -> None:
    with pytest.raises(OragentError):
        ProblemText("x", " ")


def test_a_large_table_is_described_by_all_of_its_columns_and_its_first_rows() -> None:
    rows = [
        {"work": f"Werk {n}", "town": "Köln", "a": n, "b": 2.5 * n, "c": 1, "d": 2, "capacity t": 7.0}
        for n in range(200)
    ]
    rows[3].pop("d")
    told = describe_data({"works": rows, "budget": 40})
    assert "works: list of 200 dicts" in told
    assert "works[i]['capacity t']: number, 7 to 7, mean 7" in told  # the last of seven columns
    assert "works[i]['b']: number, 0 to 497.5, mean 248.75" in told
    assert "works[i]['work']: text, 200 different such as 'Werk 0', 'Werk 1', 'Werk 2'" in told
    assert "missing in 1 rows" in told
    assert 'works[0]: {"work": "Werk 0", "town": "Köln"' in told
    assert "budget: integer" in told
    assert len(told) < 2000


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('öl,month,t\nA,Mär,"2,193"\nB,Apr,128\n', [{"öl": "A", "month": "Mär", "t": 2193}, {"öl": "B", "month": "Apr", "t": 128}]),
        ("item;price;stock\nrye;1,5;1.234\noat;0,25;7\n", [{"item": "rye", "price": 1.5, "stock": 1234}, {"item": "oat", "price": 0.25, "stock": 7}]),
        ("a\tb\nx\t1.5\n", [{"a": "x", "b": 1.5}]),
        ("a,b\nx,1e3\ny,-2\n", [{"a": "x", "b": 1000.0}, {"a": "y", "b": -2}]),
    ],
)  # fmt: skip
def test_numbers_of_spreadsheets_are_read_as_they_are_meant(tmp_path: Path, text: str, rows: list) -> None:
    """Thousands separators, semicolons, decimal commas and tabs; nothing stays a text that is a number."""
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_data(tmp_path / "t.csv").values == {"t": rows}


def test_a_number_with_two_readings_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item;stock\nrye;1.234\noat;7\n")
    with pytest.raises(ProblemError, match="line 2"):
        read_data(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("item,stock\nrye,2.300\noat,950\n")
    with pytest.raises(ProblemError):
        read_data(tmp_path / "t.csv")


def test_a_column_of_three_decimals_is_said(tmp_path: Path) -> None:
    path = put(tmp_path, "t.csv", "item,stock\nrye,2.300\noat,1.250\n")
    found = read_data(path)
    assert found.values == {"t": [{"item": "rye", "stock": 2.3}, {"item": "oat", "stock": 1.25}]}
    assert [note.startswith("t: decimal points: 2.300 in column 'stock'") for note in found.notes] == [True]
    assert read_data(put(tmp_path, "u.csv", "item,stock\nrye,2.3\n")).notes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"repairs": 0, "checks": 0}, {"time_s": 0.1}, {"time_s": 86_400.0}, {"gap": 0.0}, {"gap": 0.999}, {"temperature": 0.0},
        {"temperature": 2.0}, {"without": frozenset({"compiler"})}, {"extra": ("reviewer",)},
    ],
)  # fmt: skip
def test_options_at_their_bounds_are_accepted(changes: dict[str, object]) -> None:
    options = choose_options("default", **changes)
    assert {name: getattr(options, name) for name in changes} == changes


@pytest.mark.parametrize(
    "changes",
    [
        {"repairs": -1}, {"checks": -1}, {"time_s": 0.09}, {"time_s": 86_401.0}, {"gap": 1.0}, {"gap": -0.1}, {"temperature": -0.1},
        {"temperature": 2.1}, {"without": frozenset({"compiler", "supervisor"})}, {"without": frozenset({"cook"})}, {"extra": ("cook",)},
    ],
)  # fmt: skip
def test_options_beyond_their_bounds_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        choose_options("default", **changes)


def test_options_of_checks_depend_on_the_form_of_the_published_checker() -> None:
    paper = choose_options("paper")
    assert paper.for_form(Form.HEAD) is paper
    scaffold = paper.for_form(Form.SCAFFOLD)
    assert (scaffold.published, scaffold.absolute, scaffold.relative) == (False, 0.0, 0.0)
    default = choose_options("default")
    assert default.for_form(Form.SCAFFOLD) is default
    assert choose_options("paper", without=frozenset({"formalization"}), extra=("reviewer",)).label.split() == [
        "ormind", "without", "formalization", "with", "reviewer",
    ]  # fmt: skip


@pytest.mark.parametrize(("length", "is_whole"), [(3000, True), (3001, False)])
def test_data_are_shown_in_full_up_to_3000_characters(length: int, is_whole: bool) -> None:
    frame = len('{"a": ""}')
    text = describe_data({"a": "x" * (length - frame)})
    assert ("xxxx" in text) is is_whole
    noted = describe_data({"a": 1}, ["a: read from line 2"])
    assert noted.startswith('{"a": 1}')
    assert noted.endswith("- a: read from line 2")
    assert "{" not in describe_data({})


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ([1, 2.5, None], ["v: list of 3: integer or number or nothing"]),
        ([], ["v: list of 0: nothing"]), (True, ["v: boolean"]), ({}, ["v: dict with "]),
        ([[1, 2], [3, 4]], ["v: list of 2: list of 2: integer"]),
        ({"a": 1, "b": 2}, ["v: dict of 2 by 'a', 'b': integer"]),
        ({"a": 1}, ["v['a']: integer"]), ({"a": 1, "b": "x"}, ["v['a']: integer", "v['b']: text"]),
        ({"a": [1], "b": [2]}, ["v['a']: list of 1: integer", "v['b']: list of 1: integer"]),
        (dict.fromkeys("abcde", 1), ["v: dict of 5 by 'a', 'b', 'c', 'd', 'e': integer"]),
        (dict.fromkeys("abcdef", 1), ["v: dict of 6 by 'a', 'b', 'c', 'd', 'e', ...: integer"]),
        (
            [{"n": "x", "m": 1}, {"n": "y", "m": 3}, {"n": "x"}, {"n": "z", "m": 2.0}],
            [
                "v: list of 4 dicts, one a row, each with these keys", "v[i]['n']: text, 3 different such as 'x', 'y', 'z'",
                "v[i]['m']: integer or number, 1 to 3, mean 2, missing in 1 rows",
                "v[0]: {\"n\": \"x\", \"m\": 1}", "v[1]: {\"n\": \"y\", \"m\": 3}", "v[2]: {\"n\": \"x\"}",
            ],
        ),
    ],
)  # fmt: skip
def test_parts_of_data_are_described_by_type_and_size(value: object, lines: list[str]) -> None:
    assert [f"{name}: {kind}" for name, kind in describe_parts(value, "v")] == lines


def test_long_data_are_described_by_their_first_parts() -> None:
    many = {f"k{at}": at if at % 2 else str(at) for at in range(203)}
    described = list(describe_parts(many, "v"))
    assert len(described) == 201
    assert described[-1][1].split()[0] == "3"
    wide = [{f"c{at}": "w" * 99 for at in range(102)}] * 5
    described = list(describe_parts(wide, "v"))
    assert len(described) == 1 + 100 + 1 + 3
    assert described[101][1].split()[0] == "2"
    assert max(len(text) for _, text in described) == 600
    texts = [{"t": f"{at}{'x' * 99}"} for at in range(9)]
    (_, column), *_ = list(describe_parts(texts, "v"))[1:]
    assert column.count("xxx'") == 3
    assert "9 different" in column
    assert re.findall(r"'([^']*)'", column)[0] == "0" + "x" * 59


def test_a_leaf_of_data_is_neither_object_nor_list() -> None:
    data = {"a": [1, {"b": "x", "c": None}], "d": True}
    assert list(iterate_leaves(data)) == [1, "x", None, True]
    assert map_leaves(data, str) == {"a": ["1", {"b": "x", "c": "None"}], "d": "True"}
    assert list(iterate_texts({"top": {"key": ["text", {"inner": 1}]}})) == ["key", "text", "inner"]
    assert column_names({"a": ["x", None, {"b": "y"}], "c": 3}) == {"x", "y"}
    assert (is_table([{"a": 1}]), is_table([]), is_table([1]), is_table({"a": 1})) == (True, False, False, False)


def test_a_problem_has_at_most_so_many_values_and_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_module, "MAX_DATA_VALUES", 3)
    monkeypatch.setattr(problem_module, "MAX_TEXT_CHARACTERS", 4)
    for values in ({"a": [1, 2], "b": 3}, {"a": {"x": [None, ""]}}, {}):
        assert ProblemText("p", "text", values).data == values
    for text, values in (("text", {"a": [1, 2], "b": [3, 4]}), ("text", {"a": [None] * 4}), ("texts", {}), (" ", {})):
        with pytest.raises(ProblemError):
            ProblemText("p", text, values)


def test_a_text_has_at_most_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_module, "MAX_BYTES", 5)
    for content, is_read in (("text\n", True), ("texts\n", False), ("text\n" * 3, False), ("é\n", True)):
        (tmp_path / "p.md").write_text(content, encoding="utf-8")
        if is_read:
            assert data_module.read_text(tmp_path / "p.md", "a problem") == content
        else:
            with pytest.raises(ProblemError):
                data_module.read_text(tmp_path / "p.md", "a problem")


def test_the_rule_of_an_interface_is_that_of_its_form() -> None:
    interface = ProgramInterface("solve", ("data",), "def solve(data): ...")
    assert interface.attention == ""
    assert "mark" in replace(interface, form=Form.SCAFFOLD).attention


@pytest.mark.parametrize(
    ("parameters", "data", "arguments"),
    [
        (("data",), {"a": 1, "b": 2}, [{"a": 1, "b": 2}]), (("data",), {"data": [5], "b": 2}, [[5]]), (("all",), {"a": 1}, [{"a": 1}]), (("a",), {"a": 1, "b": 2}, [1]),
        (("b", "a"), {"a": 1, "b": 2}, [2, 1]), (("a", "c"), {"a": 1}, None), ((), {"a": 1}, []),
    ],
)  # fmt: skip
def test_arguments_are_those_of_the_data_or_all_of_them(parameters: tuple, data: dict, arguments: list | None) -> None:
    interface = ProgramInterface("solve", parameters, "")
    if arguments is None:
        with pytest.raises(ProblemError):
            interface.arguments_for(data)
    else:
        assert interface.arguments_for(data) == arguments


@pytest.mark.parametrize(
    ("parameters", "returned", "parts"),
    [
        ((), {"objective_value": 5, "optimized_vars": {"x": 1}, "y": 2}, (5, {"x": 1})), ((), {"obj": 5, "x": 1, "status": "Optimal"}, (5, {"x": 1})), ((), {"x": 1}, (None, {"x": 1})),
        # Of several names of the objective the longest counts.
        ((), {"obj": 3, "objective": 4, "objective_value": 5, "x": 1}, (5, {"x": 1})), ((), {"optimized_vars": {}, "x": 1}, (None, {})),
        (("a", "b"), [5, 1, 2], (5, {"a": 1, "b": 2})), (("a",), [5, 1, 2], (5, {"var1": 1, "var2": 2})), ((), [5], (5, {})), ((), [], (None, {})), ((), 7.5, (7.5, {})),
        ((), "text", (None, {})), ((), None, (None, {})),
    ],
)  # fmt: skip
def test_what_a_program_returns_has_an_objective_and_values(parameters: tuple, returned: object, parts: tuple) -> None:
    assert ProgramInterface("solve", parameters, "").split_returned(returned) == parts


@pytest.mark.parametrize(
    ("head", "name", "parameters"),
    [
        ("def f(a, b=3, *rest, c: int = 4, **more): ...", "f", ("a", "b", "c")), ("import os\n\ndef g(): ...\ndef f(a): ...", "g", ()), ("x = 1\n  def f(a): ...\ndef h(a,): ...", "h", ("a",)),
    ],
)  # fmt: skip
def test_an_interface_is_the_first_function_of_its_file(
    tmp_path: Path, head: str, name: str, parameters: tuple
) -> None:
    interface = read_interface(put(tmp_path, "f.py", f"\n{head}\n"))
    assert (interface.function, interface.parameters, interface.source, interface.form) == (
        name,
        parameters,
        head,
        Form.HEAD,
    )
    assert find_function(head, name)
    assert not find_function(head, name.upper())


def test_a_path_in_a_message_is_on_one_line_and_cut() -> None:
    assert len(data_module.show_path(Path("x" * 300))) == 200
    assert "\n" not in data_module.show_path(Path("a\nb"))


@pytest.mark.parametrize(
    ("text", "fence"), [("# Head\ntext", "```"), ("text", ""), ("# Head\n```\ncode\n```", "````"), ("# Head\n`````\ncode", "``````"), ("####### seven", ""), ("a # b", "")]
)  # fmt: skip
def test_a_text_with_headings_is_fenced_by_more_marks_than_it_has(text: str, fence: str) -> None:
    assert fence_headings(text) == (f"{fence}text\n{text}\n{fence}" if fence else text)


def test_the_current_entry_of_a_module_is_its_newest_with_data() -> None:
    pool = CommentPool(
        [
            PoolEntry("a", "one", [1]),
            PoolEntry("b", " two "),
            PoolEntry("a", "three"),
            PoolEntry("c", "four"),
            PoolEntry("c", "five"),
            PoolEntry("a", "six", {"k": 2}),
        ]
    )
    for module, text in (("a", "six"), ("b", " two "), ("c", "five")):
        entry = pool.newest_of(module)
        assert entry is not None
        assert entry.text == text
    assert pool.newest_of("d") is None
    assert (pool.parsed_of("a"), pool.parsed_of("b"), pool.parsed_of("d")) == ({"k": 2}, {}, {})
    assert CommentPool(pool[:3]).parsed_of("a") == {}
    # Each module is shown once, at the place of its current entry.
    assert re.findall(r"## (\w) \(model\)\n(\w+)", pool.prompt_text) == [("b", "two"), ("c", "five"), ("a", "six")]
    assert "(empty)" in CommentPool().prompt_text
    assert [json.loads(line)["text"] for line in pool.to_lines().splitlines()] == [entry.text for entry in pool]


@pytest.mark.parametrize(
    ("source", "library"),
    [
        ("import pulp", "PuLP"), ("from ortools.sat.python import cp_model", "OR-Tools' CP-SAT"), ("import ortools.linear_solver", "OR-Tools"), ("  import gurobipy as gp", "gurobipy"),
        ("import pulp\nimport highspy", "highspy"), ("from pyomo.environ import *", "pyomo"), ("x = 'import pyomo'", "PuLP"), ("", "PuLP"),
    ],
)  # fmt: skip
def test_prompts_name_the_library_of_a_program(source: str, library: str) -> None:
    words = describe_library(source)
    assert words["library"].lower() == library.lower()
    assert library.lower() in words["library_rule"].lower()
    assert words["library_rules"].startswith(words["library_rule"])
    assert (words["library_rules"] == words["library_rule"]) is (library != "PuLP")


def test_a_reply_of_the_greatest_length_is_read() -> None:
    head = "def solve(d): return 1\n"
    for size, is_read in ((MAX_CHARACTERS, True), (MAX_CHARACTERS + 1, False)):
        reply = head + "#" * (size - len(head))
        if is_read:
            assert extract_program(reply, "solve").startswith(head)
        else:
            with pytest.raises(ReplyError):
                extract_program(reply, "solve")
