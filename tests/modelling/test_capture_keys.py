"""Families and labels of a program's columns and rows: from its containers, names, loops, and lines."""

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent.modelling.capture import places as places_module
from oragent.modelling.capture import tables as tables_module
from oragent.modelling.capture.keys import resolve_keys
from oragent.modelling.capture.places import Place, PlaceLog
from oragent.modelling.capture.tables import find_sets, find_tables, is_label, label_text

Key = tuple[str, tuple[str, ...], str] | None


class Member:
    """A variable of a program."""

    def __init__(self, position: int) -> None:
        self.position = position


def position_of(value: Any) -> int | None:
    return value.position if isinstance(value, Member) else None


def resolve(
    names: Sequence[str],
    scope: dict[str, Any] | None = None,
    places: dict[int, Place] | None = None,
    given: dict[int, Any] | None = None,
) -> list[Key]:
    """Keys by position, with labels as tuples."""
    scopes = [] if scope is None else [scope]
    keys = resolve_keys(names, given or {}, scopes, None if scope is None else position_of, places or {})
    return [key and (key[0], tuple(key[1]), key[2]) for key in keys]


def members(count: int, first: int = 0) -> list[Member]:
    return [Member(first + at) for at in range(count)]


A, B, C, D = members(4)
PAIRS = [("x", "1"), ("x", "2"), ("y", "1"), ("y", "2")]
# Containers of four members, and the labels that they give.
CONTAINERS: list[tuple[str, Callable[[], Any], list[tuple[str, ...]]]] = [
    ("list", lambda: [A, B, C, D], [("0",), ("1",), ("2",), ("3",)]),
    ("tuple", lambda: (A, B, C, D), [("0",), ("1",), ("2",), ("3",)]),
    ("dict of tuples", lambda: dict(zip(PAIRS, (A, B, C, D), strict=True)), PAIRS),
    ("nested tuples", lambda: {("x", ("1", 3)): A, ("x", ("2", 3)): B, ("y", ("1", 3)): C, ("y", ("2", 3)): D},
     [("x", "1", "3"), ("x", "2", "3"), ("y", "1", "3"), ("y", "2", "3")]),
    ("dict of lists", lambda: {"x": [A, B], "y": [C, D]}, [("x", "0"), ("x", "1"), ("y", "0"), ("y", "1")]),
    ("whole floats", lambda: {1.0: A, 2.0: B, 2.5: C, 3.0: D}, [("1",), ("2",), ("2.5",), ("3",)]),
    ("numpy", lambda: np.array([[A, B], [C, D]], dtype=object), [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]),
    ("with others", lambda: {"x": A, "y": B, "w": C, "z": D, "v": 3, "u": "text", "t": None, "s": True},
     [("x",), ("y",), ("w",), ("z",)]),
    ("six levels", lambda: [[[[[[A, B]]]]], [[[[[C, D]]]]]],
     [(*at, "0", "0", "0", "0", last) for at in (("0",), ("1",)) for last in "01"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "labels"), [row[1:] for row in CONTAINERS], ids=[row[0] for row in CONTAINERS])
def test_members_of_a_container_have_its_keys_as_labels(make: Callable[[], Any], labels: list) -> None:
    expected = [("box", label, "container") for label in labels]
    assert resolve(["p", "q", "r", "s"], {"box": make()}) == expected
    # Names with a common stem before the labels give the family, other names do not.
    for separator in "_,-.: |/":
        names = [f"stem_{separator.join(label)}" for label in labels]
        assert resolve(names, {"box": make()}) == [("stem", label, "container") for label in labels]
        mixed = [*names[:-1], f"root_{separator.join(labels[-1])}"]
        assert resolve(mixed, {"box": make()}) == expected
    for form in ("stem[{}]", "stem({})", "stem{{{}}}", "stem<{}>"):
        names = [form.format(", ".join(label)) for label in labels]
        assert resolve(names, {"box": make()}) == [("stem", label, "container") for label in labels]


def test_series_and_frames_of_members_have_their_index_as_labels() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([A, B], index=["x", "y"])
    assert resolve(["p", "q"], {"box": series}) == [("box", ("x",), "container"), ("box", ("y",), "container")]
    frame = pandas.DataFrame({"k": [A, B], "l": [C, D]}, index=["x", "y"])
    labels = {0: ("x", "k"), 1: ("y", "k"), 2: ("x", "l"), 3: ("y", "l")}
    assert resolve(list("pqrs"), {"box": frame}) == [("box", labels[at], "container") for at in range(4)]


def test_a_container_that_names_a_member_twice_or_two_alike_or_unequally_gives_no_keys() -> None:
    for box in (
        [A, A],
        {"1": A, 1: B},
        {"x": A, ("x", "y"): B},
        [[A], B],
        np.array(A, dtype=object),
        np.array([0.5, 1]),
    ):
        assert resolve(["p", "q"], {"box": box}) == [None, None]
    # Seven levels are too many, as are names of the program that begin with an underscore.
    assert resolve(["p", "q"], {"box": [[[[[[[A, B]]]]]]]}) == [None, None]
    assert resolve(["p", "q"], {"_box": [A, B]}) == [None, None]


@pytest.mark.parametrize("form", ["need('{}',)", "need[ '{}' ]", "need ({})", 'need_["{}"]'])
def test_labels_in_quotes_and_tuples_are_recognised(form: str) -> None:
    names = [form.format(label) for label in "xy"]
    assert resolve(names, {"box": {"x": A, "y": B}}) == [("need", (label,), "container") for label in "xy"]
    assert resolve(["need['x', 1]", "need[x,  2]"], {"box": {("x", 1): A, ("x", 2): B}}) == [
        ("need", ("x", label), "container") for label in "12"
    ]


def test_the_largest_container_names_its_members_first_and_others_only_the_rest() -> None:
    scope = {"_own": [A, B, C, D], "few": {"a": A, "b": B}, "zone": {"x": A, "y": B, "z": C}, "last": [C, D]}
    assert resolve(list("pqrs"), scope) == [
        ("zone", ("x",), "container"),
        ("zone", ("y",), "container"),
        ("zone", ("z",), "container"),
        ("last", ("1",), "container"),
    ]
    given = {0: ("given", ["k"], "framework")}
    assert resolve(list("pqr"), {"zone": scope["zone"]}, given=given) == [
        ("given", ("k",), "framework"),
        ("zone", ("y",), "container"),
        ("zone", ("z",), "container"),
    ]


def test_a_single_variable_has_its_own_name_or_that_of_the_program() -> None:
    assert resolve(["width"], {"w": A}) == [None]
    assert resolve([""], {"w": A}) == [("w", (), "container")]
    assert resolve_keys(["x[a]"], {}, [{"w": A}], None, {}) == [("x", ["a"], "names")]


def test_attributes_of_objects_of_the_program_are_containers_of_two_levels_less() -> None:
    class Plant(SimpleNamespace):
        """An object of the program."""

    Plant.__module__ = "__main__"
    plant = Plant(lines={"x": A, "y": B}, size=3)
    expected = [("plant", ("x",), "container"), ("plant", ("y",), "container")]
    assert resolve(["p", "q"], {"plant": plant}) == expected
    assert resolve(["p", "q"], {"plants": [[[plant]]]}) == [
        ("plants", ("0", "0", "0", label), "container") for label in "xy"
    ]
    assert resolve(["p", "q"], {"plants": [[[[plant]]]]}) == [None, None]
    Plant.__module__ = "library"
    assert resolve(["p", "q"], {"plant": plant}) == [None, None]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["ship[a,b]", "ship[a, c]"], [("ship", ("a", "b")), ("ship", ("a", "c"))]),
        (["ship('a', \"b\")", "ship(a,c)"], [("ship", ("a", "b")), ("ship", ("a", "c"))]),
        (["ship_[a]", "ship [b]"], [("ship", ("a",)), ("ship", ("b",))]),
        (["ship[a]", "ship[a,b]"], [None, None]),
        (["ship[a]", "ship[a]"], [None, None]),
        (["ship[a]", "sell[a]"], [("ship", ("a",)), ("sell", ("a",))]),
        (["ship[a]x", "[a]"], [None, None]),
        (["ship", "ship_a"], [None, None]),
    ],
)
def test_names_with_brackets_give_labels_where_all_of_a_family_are_alike(names: list[str], expected: list) -> None:
    assert resolve(names) == [entry and (*entry, "names") for entry in expected]


def loops(names: Sequence[str], *values: tuple, line: int = 7, file: str = "a.py") -> list[Place]:
    return [Place(file, line, tuple(names), row) for row in values]


# Names of the members, loop variables with their values, and labels; None where the loops name no member.
LOOPS: list[tuple[list[str], list[str], list[tuple], list[tuple[str, ...]] | None, str]] = [
    (["need_a", "need_b"], ["c"], [("a",), ("b",)], [("a",), ("b",)], "need"),
    (["c1", "c2"], ["c"], [("a",), ("b",)], [("a",), ("b",)], "line_7"),
    (["_C3", "_C4"], ["c"], [("a",), ("b",)], [("a",), ("b",)], "line_7"),
    (["auto_c_3", "auto_c_4"], ["c"], [("a",), ("b",)], [("a",), ("b",)], "line_7"),
    (["", ""], ["c"], [("a",), ("b",)], [("a",), ("b",)], "line_7"),
    (["top", "low"], ["c"], [("a",), ("b",)], None, ""),
    (["c1", "low"], ["c"], [("a",), ("b",)], None, ""),
    # A counter beside a label, first or last.
    (["need_a", "need_b"], ["i", "c"], [(0, "a"), (1, "b")], [("a",), ("b",)], "need"),
    (["need_a", "need_b"], ["c", "i"], [("a", 0), ("b", 1)], [("a",), ("b",)], "need"),
    # Counters alone, and one that is needed.
    (["need_3", "need_4"], ["i"], [(3,), (4,)], [("3",), ("4",)], "need"),
    (["need_a_0", "need_a_1"], ["c", "i"], [("a", 0), ("a", 1)], [("0",), ("1",)], "need_a"),
    (["r1", "r2", "r3"], ["c", "i"], [("a", 0), ("a", 1), ("b", 0)], [("a", "0"), ("a", "1"), ("b", "0")], "line_7"),
    # A loop variable with one value, and pairs.
    (["need_b_a", "need_b_c"], ["k", "c"], [("b", "a"), ("b", "c")], [("a",), ("c",)], "need_b"),
    (["r1", "r2"], ["p"], [(("a", "b"),), (("a", "c"),)], [("a", "b"), ("a", "c")], "line_7"),
    (["r1", "r2"], ["p"], [(("a", "b"),), (("a",),)], None, ""),
    (["r1", "r2"], ["c"], [("a",), ("a",)], None, ""),
    # Values that are no labels, beside labels and alone.
    (["r1", "r2"], ["c", "d"], [("a", 0.5), ("b", 0.7)], [("a",), ("b",)], "line_7"),
    (["r1", "r2"], ["d"], [({},), ([],)], None, ""),
    (["r1", "r2"], ["p", "c"], [(("a", 0.5), "c"), (("b", 0.7), "d")], [("c",), ("d",)], "line_7"),
    (["r1", "r2"], ["p"], [(("a", "b"),), (("c", 0.5),)], None, ""),
    (["r1", "r2"], ["d"], [(True,), (False,)], None, ""),
    (["r1"], ["c"], [("a",)], [("a",)], "line_7"),
    (["r1"], ["c", "k"], [("a", "b")], [("a", "b")], "line_7"),
    (["r1", "r2"], ["i", "c"], [(0, "a"), ("k", "b")], [("a",), ("b",)], "line_7"),
    # Of two counters that are alike, the inner one is dropped.
    (["r1", "r2"], ["i", "j"], [(0, 5), (1, 6)], [("0",), ("1",)], "line_7"),
    (["r1", "r2"], ["d", "e"], [("a", "k"), ("b", "k")], [("a",), ("b",)], "line_7"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "variables", "values", "labels", "family"), LOOPS)
def test_values_of_loops_that_distinguish_members_are_their_labels(
    names: list[str], variables: list[str], values: list[tuple], labels: list | None, family: str
) -> None:
    places = dict(enumerate(loops(variables, *values)))
    expected = [None] * len(names) if labels is None else [(family, label, "loops") for label in labels]
    assert resolve(names, places=places) == expected


def test_members_of_other_lines_files_and_loops_are_no_family() -> None:
    first, second = loops(["c"], ("a",), ("b",))
    assert resolve(["r1", "r2"], places={0: first, 1: second._replace(line=8)}) == [
        ("line_7", ("a",), "loops"),
        ("line_8", ("b",), "loops"),
    ]
    nameless = {at: first._replace(line=3, values=({},)) for at in (0, 1)}
    assert resolve(["r1", "r2", "r3"], places={**nameless, 2: first}) == [None, None, ("line_7", ("a",), "loops")]
    same = first._replace(file="b.py")
    assert resolve(["r1", "r2"], places={0: first, 1: same}) == [("line_7", ("a",), "loops")] * 2
    assert resolve(["r1", "r2"], places={1: first}) == [None, ("line_7", ("a",), "loops")]
    # Names in brackets count only for members that loops do not name; containers come before both.
    named = [("x", ("k",), "names"), ("x", ("l",), "names")]
    assert resolve(["x[k]", "x[l]"], places={0: first}) == named
    assert resolve(["need_a", "x[l]"], places={0: first}) == [("need", ("a",), "loops"), ("x", ("l",), "names")]
    assert resolve(["need_a"], {"box": {"k": A}}, places={0: first}) == [("box", ("k",), "container")]


PROGRAM = """
def build(note):
    note()
    for city in ["a", "b"]:
        for week in range(2):
            note()
            [note() for day in "xy"]
        note()
    for _ in range(1): note()
    generic = {
        key: note()
        for key in ("p", "q")
    }
    {note() for key in ("r",)}; list(note() for key in ("s",))
    for first, (second, *rest) in [(1, (2, 3, 4))]:
        note()
    while True:
        note()
        break

class Inner:
    factor = 2

note()
build(note)
"""
# Line, loop variables, values, in the order of the calls.
NOTED = [
    (24, {}),
    (3, {}),
    *[
        entry
        for city in "ab"
        for entry in (
            *[
                entry
                for week in (0, 1)
                for entry in (
                    (6, {"city": city, "week": week}),
                    *[(7, {"city": city, "week": week, "day": day}) for day in "xy"],
                )
            ],
            (8, {"city": city, "week": 1}),
        )
    ],
]


def run_program(folder: Path, source: str, note: Callable[[], None], file: str = "program.py") -> None:
    path = folder / file
    path.write_text(source)
    exec(compile(source, str(path), "exec"), {"note": note, "__name__": "__main__"})


def places_of(folder: Path, source: str, program_folder: str | None = None) -> list[Place | None]:
    """Place of each call of ``note`` in a program."""
    log = PlaceLog(f"{folder}/" if program_folder is None else program_folder)
    noted: list[Place | None] = []
    run_program(folder, source, lambda: noted.append(log.current_place()))
    return noted


def test_a_place_is_the_line_of_the_program_with_the_values_of_its_loops(tmp_path: Path) -> None:
    noted = places_of(tmp_path, PROGRAM)
    found = [(place.line, dict(zip(place.names, place.values, strict=True))) for place in noted]
    begin = len(NOTED)
    assert [line for line, _ in found[:begin]] == [line for line, _ in NOTED]
    # Line 8 follows the inner loop, so that only the outer one surrounds it.
    for (line, values), (_, expected) in zip(found[:begin], NOTED, strict=True):
        assert values == (expected if line != 8 else {"city": expected["city"]})
    assert found[begin:] == [
        (9, {"_": 0}),
        (11, {"key": "p"}),
        (11, {"key": "q"}),
        (14, {"key": "r"}),
        (14, {"key": "s"}),
        (16, {"first": 1, "second": 2, "rest": [3, 4]}),
        (18, {}),
    ]
    assert {place.file for place in noted} == {str(tmp_path / "program.py")}
    assert places_of(tmp_path, PROGRAM, "/elsewhere/") == [None] * len(noted)


HELPERS = """
def outer(note):
    for k in "ab":
        inner(note)

def inner(note):
    for k in (7,):
        for j in (8,):
            note()

outer(note)
"""


def test_the_loops_of_callers_count_and_the_outer_one_names_a_variable(tmp_path: Path) -> None:
    noted = places_of(tmp_path, HELPERS)
    assert [(place.line, place.names, place.values) for place in noted] == [
        (9, ("k", "j"), ("a", 8)),
        (9, ("k", "j"), ("b", 8)),
    ]


def test_lines_without_a_readable_source_have_no_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "for k in 'ab':\n    note()\n"
    log = PlaceLog(f"{tmp_path}/")
    noted: list[Place | None] = []
    exec(compile(source, str(tmp_path / "gone.py"), "exec"), {"note": lambda: noted.append(log.current_place())})
    (tmp_path / "wrong.py").write_text("for k in (:\n")
    exec(compile(source, str(tmp_path / "wrong.py"), "exec"), {"note": lambda: noted.append(log.current_place())})
    monkeypatch.setattr(places_module, "MAX_CHARACTERS", len(source) - 1)
    run_program(tmp_path, source, lambda: noted.append(log.current_place()), "long.py")
    assert [(place.line, place.names) for place in noted] == [(2, ())] * 6
    monkeypatch.setattr(places_module, "MAX_CHARACTERS", len(source))
    run_program(tmp_path, source, lambda: noted.append(log.current_place()), "short.py")
    assert [place.values for place in noted[6:]] == [("a",), ("b",)]


def test_columns_rows_and_objects_have_the_places_of_their_making(tmp_path: Path) -> None:
    log, model, other, empty = PlaceLog(f"{tmp_path}/"), object(), object(), object()
    made = [object(), object(), object(), object()]
    steps = [
        lambda: log.note("columns", model, 2, 2),
        lambda: log.note("rows", model, 0, 1),
        lambda: log.note("columns", other, 5, 1),
        lambda: log.note("columns", empty, 9, 0),
        lambda: log.note_object("rows", made[0]),
        lambda: log.note_object("rows", made[1]),
        lambda: log.note_object("columns", made[2]),
    ]
    calls = iter(steps)
    run_program(tmp_path, "".join(f"for k in ({at},): note()\n" for at in range(len(steps))), lambda: next(calls)())

    def values(places: dict) -> dict[int, tuple[int, int]]:
        return {position: (place.line, *place.values) for position, place in places.items()}

    assert values(log.columns[id(model)]) == {2: (1, 0), 3: (1, 0)}
    assert values(log.rows[id(model)]) == {0: (2, 1)}
    assert values(log.columns[id(other)]) == {5: (3, 2)}
    assert id(empty) not in log.columns
    assert [log.line_name("rows", item) for item in made] == ["line_5", "line_6", "", ""]
    assert log.line_name("columns", made[2]) == "line_7"
    positions = {id(made[0]): 1, id(made[1]): None, id(made[2]): 0, id(made[3]): 4}
    for item in made:
        log.place_object("rows", model, item, lambda item: positions[id(item)])
        log.place_object("columns", model, item, lambda item: positions[id(item)])
    log.place_object("rows", model, made[1], lambda item: -1)
    assert values(log.rows[id(model)]) == {0: (2, 1), 1: (5, 4)}
    assert values(log.columns[id(model)]) == {0: (7, 6), 2: (1, 0), 3: (1, 0)}
    # Outside of the program nothing is noted.
    log.note("rows", model, 5, 1)
    log.note_object("rows", made[3])
    assert set(log.rows[id(model)]) == {0, 1}
    assert log.line_name("rows", made[3]) == ""


GENERATOR = """
def rows():
    for c in "ab":
        for w in (1, 2):
            yield c, w

def read():
    for m in "y":
        note(rows())

for k in "z": read()
"""


def test_a_row_of_a_generator_has_the_loops_of_the_generator(tmp_path: Path) -> None:
    log, model = PlaceLog(f"{tmp_path}/"), object()

    def note(rows: Any) -> None:
        for position, _ in enumerate(rows):
            log.note_frame("rows", model, position, rows.gi_frame)

    path = tmp_path / "program.py"
    path.write_text(GENERATOR)
    exec(compile(GENERATOR, str(path), "exec"), {"note": note})
    found = {position: (place.line, place.names, place.values) for position, place in log.rows[id(model)].items()}
    pairs = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert found == {at: (5, ("k", "m", "c", "w"), ("z", "y", *pair)) for at, pair in enumerate(pairs)}


SCOPES = """
size = {"x": 1, "y": 2}
def build():
    local = {"x": 3, "y": 4}
    list(note() for hidden in "q")
    solve()
build()
"""


def test_the_variables_of_functions_stay_after_they_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = PlaceLog(f"{tmp_path}/")
    found: list[list[dict[str, Any]]] = []

    def run(source: str) -> None:
        path = tmp_path / "program.py"
        path.write_text(source)
        scope = {"note": log.current_place, "solve": lambda: found.append(log.variable_scopes())}
        exec(compile(source, str(path), "exec"), scope)

    run(SCOPES)
    run(SCOPES.replace("    solve()\n", "") + "solve()\n")
    assert [sum("local" in scope for scope in scopes) for scopes in found] == [1, 2]
    assert not any("hidden" in scope for scopes in found for scope in scopes)
    # The function that calls comes first, then its module.
    assert [name for scope in found[0][:2] for name in ("local", "size") if name in scope] == ["local", "size"]
    # Only the frame of the module is noted, as outer ones come first.
    monkeypatch.setattr(places_module, "MAX_FRAMES", 1)
    log = PlaceLog(f"{tmp_path}/")
    run(SCOPES.replace("    solve()\n", "") + "solve()\n")
    assert not any("local" in scope for scope in found[-1])
    log = PlaceLog(f"{tmp_path}/")
    run("size = 3\nsolve()\n")
    assert [scope["size"] for scope in found[-1]] == [3]


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (["a", "b"], ["a", "b"]),
        (("a", 3), ["a", "3"]),
        (range(2, 4), ["2", "3"]),
        ({"k": [1], "l": 2}, ["k", "l"]),
        (["a", "a"], None),
        (["1", 1], None),
        ([0.5], None),
        ([True, False], None),
        ([], None),
        ("ab", None),
        (["a", None], None),
    ],
)
def test_sets_are_different_labels_of_lists_and_keys(value: Any, labels: list[str] | None) -> None:
    assert find_sets([{"_s": ["x"], "s": value}, {"s": ["later"]}]).get("s", ["later"]) == (labels or ["later"])
    assert "_s" not in find_sets([{"_s": ["x"]}])


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        ({"a": 1, "b": 2.5}, {("a",): 1.0, ("b",): 2.5}),
        ([3, 4], {("0",): 3.0, ("1",): 4.0}),
        ({("a", 1): 1, ("b", 2): 2}, {("a", "1"): 1.0, ("b", "2"): 2.0}),
        ({"a": [1, 2], "b": [3, 4]}, {("a", "0"): 1.0, ("a", "1"): 2.0, ("b", "0"): 3.0, ("b", "1"): 4.0}),
        (np.array([[1.5, 2], [3, 4]]), {("0", "0"): 1.5, ("0", "1"): 2.0, ("1", "0"): 3.0, ("1", "1"): 4.0}),
        ([[[[[1, 2]]]]], {("0", "0", "0", "0", "0"): 1.0, ("0", "0", "0", "0", "1"): 2.0}),
        ([[[[[[1, 2]]]]]], None),
        ({"a": 1}, None),
        ({"a": 1, "b": "x"}, None),
        ({"a": 1, "b": True}, None),
        ({"a": 1, "b": None}, None),
        ({"a": 1, "b": [2]}, None),
        (3.0, None),
        (np.array(3.0), None),
    ],
)
def test_tables_are_numbers_by_keys_of_one_length(value: Any, cells: dict | None) -> None:
    tables = find_tables([{"_t": {"a": 1, "b": 2}, "t": value}])
    expected = [] if cells is None else [("t", cells)]
    assert [(table.name, dict(zip(map(tuple, table.keys), table.values, strict=True))) for table in tables] == expected


def test_each_column_of_a_frame_is_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cost": [1.5, 2], "name": ["p", "q"], "size": [3, 4]}, index=["x", "y"])
    tables = find_tables([{"frame": frame, "same": frame, "cost": {"x": 7, "z": 8}}, {"cost": {"z": 0, "y": 1}}])
    found = [(table.name, table.keys, table.values) for table in tables]
    index = [["x"], ["y"]]
    assert found == [("cost", index, [1.5, 2.0]), ("size", index, [3.0, 4.0]), ("cost", [["z"], ["y"]], [0.0, 1.0])]
    tables = find_tables([{"cost": {"x": 7, "y": 8}}, {"frame": frame}])
    assert [(table.name, table.values) for table in tables] == [("cost", [7.0, 8.0]), ("size", [3.0, 4.0])]


def test_sets_and_tables_end_at_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = [{"a": [1, 2, 3], "b": [4, 5]}, {"c": [6, 7], "d": [8, 9]}]

    def names(**limits: int) -> list[str]:
        with monkeypatch.context() as patch:
            for name, limit in limits.items():
                patch.setattr(tables_module, name, limit)
            return [table.name for table in find_tables(scopes)]

    assert names() == ["a", "b", "c", "d"]
    assert names(MAX_TABLES=3) == ["a", "b", "c"]
    assert names(MAX_VALUES=2) == ["b"]
    assert names(MAX_VALUES=3) == ["a"]
    assert names(MAX_VALUES=4) == ["a"]
    assert names(MAX_VALUES=6) == ["a", "b"]
    assert names(MAX_VALUES=9) == ["a", "b", "c", "d"]
    monkeypatch.setattr(tables_module, "MAX_SETS", 3)
    monkeypatch.setattr(tables_module, "MAX_LABELS", 2)
    assert list(find_sets(scopes)) == ["b", "c", "d"]
    assert list(find_sets([*scopes, {"e": [0]}])) == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("a", "a"),
        (3, "3"),
        (3.0, "3"),
        (2.5, "2.5"),
        (np.int64(3), "3"),
        (np.float64(4.0), "4"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2, 3), "2026-01-02 03:00:00"),
    ],
)
def test_the_text_of_a_label_is_that_of_its_value(label: Any, text: str) -> None:
    assert label_text(label) == text
    assert is_label(label) is not isinstance(label, float)
