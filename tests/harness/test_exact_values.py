"""Values that evaluators of other frameworks exchange with a candidate keep their types, and functions stay at home."""

import json
import random
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from oragent.harness import Guest, wire_format
from oragent._base.errors import CandidateError
from oragent.harness.exact_values import ExactArrays, Record, SentFunctions, serve_callback
from oragent.harness.wire_format import FrameError

PROGRAM = """
import random
import numpy as np

def same(value):
    return value

def describe(value):
    return [type(value).__name__, str(getattr(value, "dtype", ""))]

def read(item):
    return [item.name, item.size, item.inner.size]

def apply(function, *args):
    return function(*args)

def draw(generator, count):
    return [generator.integers(1000) for _ in range(count)]

def steal(generator):
    return generator.bit_generator.state

def mix(generator, items):
    generator.shuffle(items)
    return items

def pick(generator, items):
    return generator.sample(items, 3)

def chance():
    return [random.random(), np.random.random()]

def give():
    return lambda: 1

def mask(items):
    return np.ma.masked_array(items, mask=[True] * len(items))
"""
FUNCTIONS = ("same", "describe", "read", "apply", "draw", "steal", "chance", "give", "mix", "pick", "mask")
Point = namedtuple("Point", "x y")
SEEN: list[float] = []


@dataclass
class Item:
    name: str
    size: Any
    inner: Any = None


def square(value: float, *, shift: float = 0) -> float:
    SEEN.append(value)
    return value**2 + shift


def fail() -> float:
    return 1 / 0


def lend() -> list[Any]:
    return [hex]


def sent(function: Any) -> SentFunctions:
    functions = SentFunctions()
    functions.append(function)
    return functions


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    path = tmp_path_factory.mktemp("program") / "heuristic.py"
    path.write_text(PROGRAM)
    with Guest(path, FUNCTIONS[0], functions=FUNCTIONS[1:]) as guest:
        guest.callbacks = (square.__qualname__, fail.__qualname__, lend.__qualname__)
        yield guest


@pytest.fixture(scope="module")
def call(guest: Guest) -> Any:
    return lambda name, *args, **kwargs: guest.call_exactly(name, args, kwargs)


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1), np.float32(0.1), np.int8(-3), np.uint64(2**63), np.bool_(True), np.str_("a"),
        np.float64("nan"), np.float64("-inf"), 3, 0.1, True, None, "text", b"\x00bytes", 2**70,
    ],
)  # fmt: skip
def test_a_single_value_keeps_its_type(call: Any, value: Any) -> None:
    assert call("describe", value)[0] == type(value).__name__
    answer = call("same", value)
    assert type(answer) is type(value)
    assert answer == value or (value != value and answer != answer)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array(["a", "bcd"]),
        np.array([[1, "x"], [None, 2.5]], dtype=object), np.zeros((0, 3)), np.array(2.5), np.array([1j, 2]),
    ],
)  # fmt: skip
def test_an_array_keeps_type_shape_and_order(call: Any, array: np.ndarray) -> None:
    answer = call("same", array)
    assert (answer.dtype, answer.shape) == (array.dtype, array.shape)
    assert answer.tolist() == array.tolist()
    assert answer.flags.f_contiguous == array.flags.f_contiguous
    assert answer.flags.c_contiguous == array.flags.c_contiguous


def test_scalars_within_collections_keep_their_types(call: Any) -> None:
    answer = call("same", {"a": [np.float32(0.5), (np.int64(2), {3})], 4: range(2)})
    assert answer == {"a": [0.5, (2, {3})], 4: [0, 1]}
    assert type(answer["a"][0]) is np.float32
    assert type(answer["a"][1][0]) is np.int64
    many = call("same", [np.int32(2), np.int32(3)])
    assert many == [2, 3]
    assert type(many) is list
    assert type(many[1]) is np.int32


def test_an_object_arrives_with_its_attributes(call: Any) -> None:
    assert call("read", Item("box", np.int32(3), Item("lid", 1))) == ["box", 3, 1]
    answer = call("same", Item("box", 3))
    assert isinstance(answer, Record)
    assert (answer.name, answer.size, answer.inner) == ("box", 3, None)
    named = call("same", Point(1, np.float32(2)))
    assert (named.x, named[1], named == (1, 2), type(named.y)) == (1, 2, True, np.float32)
    with pytest.raises(AttributeError):
        _ = named.z


class Colour(IntEnum):
    RED = 2


class Name(str):
    pass


class Table(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Counter("aab"), {"a": 2, "b": 1}), (OrderedDict(b=1, a=np.int8(2)), {"b": 1, "a": 2}), (Colour.RED, 2),
        (Name("x"), "x"), ([Colour.RED], [2]),
    ],
)  # fmt: skip
def test_a_value_of_a_subclass_keeps_its_content(call: Any, value: Any, expected: Any) -> None:
    answer = call("same", value)
    assert answer == expected
    assert type(answer) is type(expected)


def test_kinds_of_arrays_and_tensors_keep_their_numbers(call: Any) -> None:
    assert call("same", np.array([[1, 2]]).view(Table)).tolist() == [[1, 2]]
    torch = pytest.importorskip("torch")
    answer = wire_format.decode_frame(wire_format.encode([torch.tensor([1.0, 2.0])], ExactArrays()), ExactArrays())
    assert answer[0].tolist() == [1, 2]


def test_a_function_of_the_evaluator_is_called_in_its_process(call: Any) -> None:
    assert call("apply", square, np.float32(3)) == 9
    assert type(SEEN[0]) is np.float32


@pytest.mark.parametrize("value", [hex, [hex], {"cost": hex}, Item("a", hex), lambda: 1, Counter, Point(1, hex)])
def test_a_function_that_is_not_named_stays_at_home(call: Any, value: Any) -> None:
    with pytest.raises(FrameError):
        call("same", value)


def test_a_callback_lends_no_other_function(call: Any) -> None:
    with pytest.raises(CandidateError, match="hex"):
        call("apply", lend)


def test_a_trial_names_the_functions_that_are_passed_and_refuses_changed_arguments(
    call: Any, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: set[str] = set()
    monkeypatch.setattr(guest, "trial", passed)
    assert call("apply", hex, 255) == "0xff"
    assert call("describe", [1, np.arange(3.0)]) == ["list", ""]
    with pytest.raises(CandidateError, match="place"):
        call("mix", random.Random(1), list(range(20)))
    assert passed == {"hex"}


def test_a_masked_array_is_refused_where_its_mask_would_be_lost(call: Any) -> None:
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    for arrays in (ExactArrays(SentFunctions()), None):
        with pytest.raises(FrameError, match="mask"):
            wire_format.encode({"a": [masked]}, arrays)
    with pytest.raises(CandidateError, match="mask"):
        call("mask", [1.0, 2.0])


def test_an_exception_of_the_evaluators_function_reaches_the_candidate(call: Any) -> None:
    with pytest.raises(CandidateError, match="ZeroDivisionError"):
        call("apply", fail)


def test_draws_of_a_passed_generator_advance_it(call: Any) -> None:
    ours, alone = np.random.default_rng(7), np.random.default_rng(7)
    drawn = call("draw", ours, 3)
    assert drawn == [alone.integers(1000) for _ in range(3)]
    assert ours.integers(1000) == alone.integers(1000)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_a_passed_generator_shuffles_in_place(call: Any, make: Any) -> None:
    ours, alone, items = make(7), make(7), list(range(20))
    answer = call("mix", ours, items)
    alone.shuffle(items)
    assert answer == items
    assert ours.random() == alone.random()


def test_a_generator_of_the_standard_library_is_passed(call: Any) -> None:
    assert call("pick", random.Random(3), list(range(50))) == random.Random(3).sample(range(50), 3)


def test_the_state_of_a_passed_generator_stays_closed(call: Any) -> None:
    with pytest.raises(CandidateError, match="bit_generator"):
        call("steal", np.random.default_rng(7))
    frame = serve_callback([0, "__init__", (), {}], sent(np.random.default_rng(7)))
    assert "problem" in wire_format.decode_frame(frame)
    for name, kind in (("set_state", np.random.RandomState), ("getstate", random.Random), ("setstate", random.Random)):
        frame = serve_callback([0, name, (), {}], sent(kind(7)))
        assert "problem" in wire_format.decode_frame(frame)


def test_methods_that_the_evaluator_adds_to_a_generator_are_not_called() -> None:
    class Sampler(random.Random):
        def solution(self) -> str:
            return "secret"

    assert "problem" in wire_format.decode_frame(serve_callback([0, "solution", (), {}], sent(Sampler(7))))
    frame = serve_callback([0, "randrange", (9,), {}], sent(Sampler(7)))
    assert wire_format.decode_frame(frame, ExactArrays())["value"] == random.Random(7).randrange(9)


def test_global_generators_go_on_between_calls(call: Any) -> None:
    first, second = call("chance"), call("chance")
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_function_cannot_be_returned(call: Any) -> None:
    with pytest.raises(CandidateError, match="function"):
        call("give")


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(FrameError, match="module"):
        wire_format.encode(Item("a", np), ExactArrays(SentFunctions()))
    with pytest.raises(FrameError, match="generator"):
        wire_format.encode((number for number in range(3)), ExactArrays(SentFunctions()))


@pytest.mark.parametrize(
    "tree",
    [
        {"scalar": ["O", 1]}, {"scalar": ["<f8", [1]]}, {"scalar": ["<f8"]}, {"fortran": 3}, {"bytes": 0},
        {"record": ["x", [1]]}, {"items": ["O", [2], [1]]}, {"function": 0}, {"generator": 0}, {"named": [1, 2]},
        {"unknown": 1},
    ],
)  # fmt: skip
def test_a_malformed_tag_is_refused(tree: Any) -> None:
    header = json.dumps([tree, []]).encode()
    with pytest.raises(FrameError):
        wire_format.decode(header, b"", ExactArrays())


@pytest.mark.parametrize("kind", ["record", "named"])
def test_no_attribute_of_an_answer_names_memory_of_the_scorer(kind: str) -> None:
    """NumPy reads and writes at the address in this attribute, also of an instance."""
    memory = np.arange(4.0)
    interface = wire_format.to_tree(
        {"data": (memory.ctypes.data, False), "shape": (4,), "typestr": "<f8", "version": 3}, ExactArrays()
    )
    name = "__array_interface__"
    tree = {"record": ["x", {name: interface}]} if kind == "record" else {"named": [[name], [interface]]}
    with pytest.raises(FrameError):
        wire_format.decode(json.dumps([tree, []]).encode(), b"", ExactArrays())


def test_fields_of_a_named_tuple_come_before_methods_of_tuples(call: Any) -> None:
    kind = namedtuple("Item", "index count")
    answer = call("same", kind(3, 4))
    assert (answer.index, answer.count, answer == (3, 4)) == (3, 4, True)


def test_a_frame_of_usual_values_has_no_further_tags() -> None:
    """Other evaluators send NumPy scalars as numbers."""
    assert type(wire_format.decode_frame(wire_format.encode(np.float64(0.5)))) is float
    with pytest.raises(FrameError):
        wire_format.encode(Item("box", 1))
