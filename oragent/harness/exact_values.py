"""Values that evaluators of other frameworks exchange with a candidate, in frames of `wire_format`.

In addition to plain data: NumPy scalars with their types, arrays of texts and objects, bytes, named tuples, and objects
with attributes, which arrive as `Record`. Functions and random generators stay with the sender: the receiver gets a
stand-in whose calls come back while the sender waits for its answer (a callback). The receiver can call a function with
any arguments, so only functions that the task names are sent.
"""

import random
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from oragent.harness import wire_format
from oragent.harness.wire_format import PLAIN, FrameArrays, FrameError, from_tree, is_tensor, to_tree

# Types that `wire_format` sends itself, the frequent ones.
USUAL = frozenset((list, dict, tuple, set, frozenset))
# Types whose subclasses `wire_format` sends as these types.
COLLECTIONS = (list, dict, tuple, set, frozenset, np.ndarray)
# Types whose subclasses, such as enumerations, are sent as these types, whatever the methods of the subclass.
CONVERSIONS: Mapping[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
# Methods of generators that set their state or give access to it.
CLOSED = frozenset(("bit_generator", "spawn", "seed", "set_state", "get_state", "setstate", "getstate"))
# Method that changes its first argument.
SHUFFLE = "shuffle"
# Kinds of NumPy scalars: bool, signed, unsigned, float, text.
SCALARS = "biufU"
MAX_CALLBACK_ERROR = 500
# Function that makes a callback: number of the function, name of its method or "", positional and keyword arguments.
CallBack = Callable[[int, str, tuple[Any, ...], dict[str, Any]], Any]


class Record:
    """Copy of an object: its attributes, without its methods."""

    _kind: str

    def __init__(self, kind: str, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self.__dict__["_kind"] = kind

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items() if name != "_kind")
        return f"{self._kind}({values})"


class NamedRecord(tuple[Any, ...]):
    """Copy of a named tuple."""

    _fields: tuple[str, ...]

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "NamedRecord":
        """Return the copy of a named tuple with these fields."""
        record = cls(fields.values())
        record.__dict__.update(fields)
        record._fields = tuple(fields)
        return record


class DistantGenerator:
    """Stand-in for a random generator of the evaluator: each draw is a callback, so that its state advances."""

    def __init__(self, call_back: CallBack, number: int) -> None:
        self._call_back, self._number = call_back, number

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method for drawing."""
        if name.startswith("_") or name in CLOSED:
            raise AttributeError(f"the generator belongs to the evaluator: {name} is not available")
        return lambda *args, **kwargs: self._call_back(self._number, name, args, kwargs)

    def shuffle(self, x: Any, *args: Any, **kwargs: Any) -> None:
        """Shuffle a list or an array in place."""
        x[:] = self._call_back(self._number, SHUFFLE, (x, *args), kwargs)


GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
DRAWING = (*GENERATORS, DistantGenerator)


class SentFunctions(list[Any]):
    """Functions and generators of the sender, by number.

    Args:
        may_call: Function that returns True if the receiver may call a function of this name.
    """

    def __init__(self, may_call: Callable[[str], bool] = lambda name: True) -> None:
        super().__init__()
        self.may_call = may_call


class ExactArrays(FrameArrays):
    """Arrays of a frame with values of further types.

    Args:
        functions: Functions of the sender, which frames of one call share. None means that functions cannot be sent.
        call_back: Function that makes a callback, or None if none can be received.
    """

    def __init__(self, functions: SentFunctions | None = None, call_back: CallBack | None = None) -> None:
        super().__init__()
        self.functions, self._call_back = functions, call_back

    def to_tag(self, value: Any) -> dict[str, Any] | None:
        """Return the tag of a value that is not plain, or None for the usual one."""
        kind = type(value)
        if kind in USUAL:
            if kind is list and value and isinstance(value[0], np.generic) and len(set(map(type, value))) == 1:
                return self._tag_scalars(value)
            return None
        if kind is np.ndarray:
            return self._tag_array(value)
        if isinstance(value, np.generic):
            return {"scalar": [value.dtype.str, value.item()]} if value.dtype.kind in SCALARS else None
        if isinstance(value, bytes):
            self.append(np.frombuffer(value, np.uint8))
            return {"bytes": len(self) - 1}
        if isinstance(value, tuple) and isinstance(fields := getattr(value, "_fields", None), tuple):
            return {"named": [list(fields), [to_tree(item, self) for item in value]]}
        if isinstance(value, range):
            return {"plain": list(value)}
        if isinstance(value, DRAWING):
            return {"generator": self._keep_function(value)}
        for plain, convert in CONVERSIONS.items():
            if isinstance(value, plain):
                return {"plain": convert(value)}
        if isinstance(value, COLLECTIONS) or is_tensor(value) or isinstance(value, ModuleType):
            # A module cannot be sent: its functions would be callable with any arguments in the sender's process.
            return None
        if callable(value):
            name = str(getattr(value, "__qualname__", kind.__name__))
            if self.functions is not None and not self.functions.may_call(name):
                raise FrameError(f"the function {name}, which eval.py does not name among its callbacks")
            return {"function": [self._keep_function(value), name]}
        if isinstance(attributes := getattr(value, "__dict__", None), dict):
            names = [name for name in map(str, attributes) if not name.startswith("__")]
            return {"record": [kind.__name__, {name: to_tree(attributes[name], self) for name in names}]}
        return None

    def from_tag(self, tag: str, content: Any) -> Any:
        """Return the value of a further tag.

        Raises:
            FrameError: The tag is unknown, or its content is malformed.
        """
        match tag:
            case "scalar":
                dtype = np.dtype(str(content[0]))
                if dtype.kind not in SCALARS or type(content[1]) not in PLAIN:
                    raise FrameError(f"a number of dtype {dtype}")
                return dtype.type(content[1])
            case "scalars":
                return list(self[content])
            case "fortran":
                return self[content].T
            case "bytes":
                return self[content].tobytes()
            case "items":
                return self._make_items(*content)
            case "named":
                values = [from_tree(item, self) for item in content[1]]
                return NamedRecord.from_fields(dict(zip(_check_names(content[0]), values, strict=True)))
            case "record":
                kind, attributes = content
                return Record(str(kind), {name: from_tree(attributes[name], self) for name in _check_names(attributes)})
            case "generator" if self._call_back is not None:
                return DistantGenerator(self._call_back, int(content))
            case "function" if self._call_back is not None:
                function = partial(_call_function, self._call_back, int(content[0]))
                # A process of the evaluator passes it on.
                vars(function)["__qualname__"] = str(content[1])
                return function
        return super().from_tag(tag, content)

    def _tag_scalars(self, values: list[Any]) -> dict[str, Any] | None:
        if values[0].dtype.kind not in "biuf":
            return None
        self.append(np.array(values))
        return {"scalars": len(self) - 1}

    def _tag_array(self, value: np.ndarray[Any, Any]) -> dict[str, Any] | None:
        if value.dtype.kind in "UO":
            return {
                "items": [value.dtype.kind, list(value.shape), [to_tree(item, self) for item in value.ravel().tolist()]]
            }
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            # Sums depend on the order in memory.
            self.append(value.T)
            return {"fortran": len(self) - 1}
        return None

    def _make_items(self, kind: str, shape: list[int], items: list[Any]) -> np.ndarray[Any, Any]:
        values = [from_tree(item, self) for item in items]
        if kind == "U":
            return np.array([str(value) for value in values], dtype=str).reshape(shape)
        array = np.empty(len(values), dtype=object)
        for index, value in enumerate(values):
            array[index] = value
        return array.reshape(shape)

    def _keep_function(self, function: Any) -> int:
        if self.functions is None:
            raise FrameError(f"a {type(function).__name__}; functions cannot be returned")
        self.functions.append(function)
        return len(self.functions) - 1


def _check_names(names: Collection[Any]) -> Collection[str]:
    """Refuse attributes such as ``__array_interface__``, an address whose memory NumPy would read and change."""
    if not all(isinstance(name, str) and not name.startswith("__") for name in names):
        raise FrameError("an object with an attribute of a special name")
    return names


def _call_function(call_back: CallBack, number: int, *args: Any, **kwargs: Any) -> Any:
    return call_back(number, "", args, kwargs)


def encode_callback(number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Encode a callback.

    Raises:
        FrameError: An argument cannot be sent.
    """
    return wire_format.encode({"callback": [number, method, args, kwargs]}, ExactArrays())


def serve_callback(content: Any, functions: SentFunctions) -> bytes:
    """Make the call that a callback asks for, and encode the answer. An exception of the function is part of it.

    Args:
        content: Content of the callback, which is not checked yet.
        functions: Functions that were sent, by number.
    """
    try:
        number, method, args, kwargs = content
        function = functions[number]
        if isinstance(function, DRAWING):
            # Methods of a class of the evaluator are functions that it does not name.
            if method.startswith("_") or method in CLOSED or not any(hasattr(kind, method) for kind in GENERATORS):
                raise AttributeError(method)
            function = getattr(function, method)
        value = function(*args, **kwargs)
        # The copy of an argument is shuffled here, so it goes back.
        value = args[0] if isinstance(functions[number], DRAWING) and method == SHUFFLE else value
        return wire_format.encode({"value": value}, ExactArrays(functions))
    except Exception as problem:
        return wire_format.encode({"problem": f"{type(problem).__name__}: {problem}"[:MAX_CALLBACK_ERROR]})


def read_callback_answer(answer: Any) -> Any:
    """Return the result of a callback.

    Raises:
        RuntimeError: The function of the evaluator raised an exception.
    """
    if "problem" in answer:
        raise RuntimeError(answer["problem"])
    return answer["value"]
