"""Frames between scorer and guest: a JSON header and raw bytes of arrays. Pickle is never used.

A frame is two little-endian unsigned 64-bit lengths, the header and the payload. The header is the value as JSON. Every
value that JSON does not know is an object with one tag: ``{"array": i}`` is the i-th array of the payload; ``{"tensor":
i}`` is the same as a PyTorch tensor (as an array if the receiver has not imported torch); ``{"tuple": [...]}``,
``{"set": [...]}`` and ``{"dict": [[key, value], ...]}`` are these types; ``{"plain": ...}`` contains a value that JSON
represents exactly, to any depth. `exact_values` adds tags. Data of a guest are untrusted: lengths, depth, dtypes and
shapes are checked against limits before the payload is used.
"""

import json
import math
import socket
import struct
import sys
from collections.abc import Collection
from typing import Any

import numpy as np

HEAD = struct.Struct("<QQ")
MAX_HEADER, MAX_PAYLOAD = 64 << 20, 1 << 30
PLAIN = frozenset((type(None), bool, int, float, str))
CHUNK, PIECE = 1 << 16, 1 << 20
# Kinds of numbers: bool, signed, unsigned, float, complex. Objects are excluded.
KINDS = "biufc"


class FrameError(ValueError):
    """A value cannot be sent, or a frame is malformed."""


class FrameArrays(list[np.ndarray[Any, Any]]):
    """Arrays of the payload of a frame. Subclasses send and receive values of further types."""

    def to_tag(self, value: Any) -> dict[str, Any] | None:
        """Return the tag of a value that is not plain, or None for the usual one."""
        return None

    def from_tag(self, tag: str, content: Any) -> Any:
        """Return the value of a tag that this module does not have.

        Raises:
            FrameError: The tag is unknown.
        """
        raise FrameError(f"a value with the unknown tag {tag!r}")


def encode(value: Any, arrays: FrameArrays | None = None) -> bytes:
    """Convert a value to a frame.

    Args:
        value: None, bool, int, float, str, list, tuple, set, dict, numeric array, numpy scalar, or dense tensor in main
            memory without gradients, nested as needed.
        arrays: Empty list of arrays, which decides what else can be sent.

    Raises:
        FrameError: A value cannot be sent; the message names its type.
    """
    arrays = FrameArrays() if arrays is None else arrays
    try:
        tree = to_tree(value, arrays)
        specs = [[array.dtype.str, list(array.shape)] for array in arrays]
        header = json.dumps([tree, specs]).encode()
    except FrameError:
        raise
    except RecursionError:
        raise FrameError("a value nested too deeply, or inside itself") from None
    except ValueError as problem:
        raise FrameError(f"a value that cannot be sent: {problem}") from None
    payload = sum(array.nbytes for array in arrays)
    _check_lengths(len(header), payload)
    return b"".join((HEAD.pack(len(header), payload), header, *(array.data for array in arrays)))


def _check_lengths(header: int, payload: int, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD) -> None:
    if header > max_header or payload > max_payload:
        raise FrameError(f"a value of {(header + payload) >> 20} MiB; the limit is {max_payload >> 20} MiB")


def frame_length(buffer: bytes | bytearray, max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD) -> int:
    """Return the length of the frame at the beginning of a buffer; 0 if its head is incomplete.

    Raises:
        FrameError: Header or payload is too large.
    """
    if len(buffer) < HEAD.size:
        return 0
    header, payload = HEAD.unpack_from(buffer)
    _check_lengths(header, payload, max_header, max_payload)
    return int(HEAD.size + header + payload)


def decode_frame(frame: bytes | bytearray, arrays: FrameArrays | None = None) -> Any:
    """Convert a whole frame to the value. ``arrays`` is an empty list that decides what else can be received.

    Raises:
        FrameError: As for ``decode``.
    """
    end = HEAD.size + int(HEAD.unpack_from(frame)[0])
    return decode(bytes(frame[HEAD.size : end]), memoryview(frame)[end:], arrays)


def decode(header: bytes, payload: bytes | memoryview, arrays: FrameArrays | None = None) -> Any:
    """Convert the two parts of a frame to the value. Arrays are new and writable.

    Raises:
        FrameError: The frame is malformed.
    """
    try:
        tree, specs = json.loads(header)
        arrays, start = FrameArrays() if arrays is None else arrays, 0
        for dtype_text, shape in specs:
            array = _read_array(dtype_text, shape, payload, start)
            arrays.append(array)
            start += array.nbytes
        return from_tree(tree, arrays)
    except FrameError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError) as problem:
        raise FrameError(f"a malformed frame ({type(problem).__name__})") from None


def receive_into(wire: socket.socket, buffer: bytearray, length: int) -> int:
    """Receive the available bytes of a frame into a buffer. Most frames arrive at once.

    Returns:
        The number of bytes that came; 0 at the end of the connection.
    """
    have = len(buffer)
    if not have:
        buffer += wire.recv(CHUNK)
        return len(buffer)
    # Read in place, so that a large payload is not copied again.
    buffer.extend(bytes(min(length - have, PIECE)))
    with memoryview(buffer) as view:
        count = wire.recv_into(view[have:])
    del buffer[have + count :]
    return count


def to_tree(value: Any, arrays: FrameArrays) -> Any:
    """Return the part of the header for a value, and append its arrays."""
    if type(value) in PLAIN:
        return value
    if type(arrays) is not FrameArrays and (tagged := arrays.to_tag(value)) is not None:
        return tagged
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in KINDS:
            raise FrameError(f"an array of dtype {value.dtype}; only numbers can be sent")
        if hasattr(value, "mask"):
            raise FrameError("a masked array, whose mask cannot be sent")
        arrays.append(np.ascontiguousarray(value).reshape(value.shape))
        return {"array": len(arrays) - 1}
    if is_tensor(value):
        arrays.append(_from_tensor(value))
        return {"tensor": len(arrays) - 1}
    if type(value) in (list, dict) and _is_plain(value):
        return {"plain": value}
    if isinstance(value, list):
        return _pack_all(value, arrays)
    if isinstance(value, tuple):
        return {"tuple": _pack_all(value, arrays)}
    if isinstance(value, (set, frozenset)):
        return {"set": _pack_all(value, arrays)}
    if isinstance(value, dict):
        return {"dict": [[to_tree(key, arrays), to_tree(item, arrays)] for key, item in value.items()]}
    raise FrameError(f"a {type(value).__name__}; only numbers, text, plain collections and arrays can be sent")


def _pack_all(values: Collection[Any], arrays: FrameArrays) -> list[Any]:
    if _all_plain(values):
        return list(values)
    return [to_tree(item, arrays) for item in values]


def _is_plain(value: Any) -> bool:
    """Return True if JSON represents the value exactly, to any depth, so that both sides can skip the conversion."""
    if type(value) is dict:
        if not all(type(key) is str for key in value):
            return False
        value = value.values()
    elif type(value) is not list:
        return type(value) in PLAIN
    return _all_plain(value) or all(map(_is_plain, value))


def _all_plain(values: Collection[Any]) -> bool:
    """Return True if all values are plain.

    Most collections are long and contain plain numbers, which need no closer examination.
    """
    return PLAIN.issuperset(map(type, values))


def is_tensor(value: Any) -> bool:
    """Return True for a tensor of PyTorch."""
    # A process with a tensor has imported torch. Other processes need not import it.
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_tensor(value: Any) -> np.ndarray[Any, Any]:
    if value.requires_grad:
        raise FrameError("a tensor that requires grad; return it detached, or compute under torch.no_grad()")
    if value.device.type != "cpu":
        raise FrameError(f"a tensor on device {value.device}; return it on the CPU, with .cpu()")
    if str(value.layout) != "torch.strided":
        raise FrameError(f"a tensor of layout {value.layout}; return a dense one, with .to_dense()")
    # Numpy does not have this type.
    wide = value.float() if str(value.dtype) == "torch.bfloat16" else value
    return np.ascontiguousarray(wide.numpy()).reshape(value.shape)


def _to_tensor(array: np.ndarray[Any, Any]) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        return array
    return torch.from_numpy(array)


def _read_array(dtype_text: str, shape: list[int], payload: bytes | memoryview, start: int) -> np.ndarray[Any, Any]:
    dtype = np.dtype(str(dtype_text))
    if dtype.kind not in KINDS or not all(type(extent) is int and extent >= 0 for extent in shape):
        raise FrameError(f"an array of dtype {dtype_text} and shape {shape}")
    count = math.prod(shape)
    if start + count * dtype.itemsize > len(payload):
        raise FrameError("an array that claims more bytes than it has")
    return np.frombuffer(payload, dtype, count, start).reshape(shape).copy()


def from_tree(tree: Any, arrays: FrameArrays) -> Any:
    """Return the value of a part of the header."""
    if isinstance(tree, list):
        if _all_plain(tree):
            return tree
        return [from_tree(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((tag, content),) = tree.items()
    if tag == "array":
        return arrays[content]
    if tag == "tensor":
        return _to_tensor(arrays[content])
    if tag == "tuple":
        return tuple(from_tree(content, arrays))
    if tag == "set":
        return set(from_tree(content, arrays))
    if tag == "plain":
        return content
    if tag == "dict":
        return {from_tree(key, arrays): from_tree(item, arrays) for key, item in content}
    return arrays.from_tag(tag, content)
