"""Arrays that a candidate keeps for later programs of its search.

The candidate fills a dictionary ``KEPT_ARRAYS`` at the top of its program. The scorer asks for it after the last call,
on training and practice instances only, and writes a file that the search reads. The content is untrusted.
"""

import base64
import json
import zlib
from types import ModuleType
from typing import Any

import numpy as np

from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.programs.kept_arrays import DTYPE, KEPT, MAX_BYTES, MAX_OF_PROBE, NAME


def read_kept(module: ModuleType | None) -> dict[str, Any]:
    """Return the arrays that a program keeps, in the program's own process.

    Raises:
        CandidateError: They are too large, or not arrays.
    """
    kept = getattr(module, KEPT, {})
    _check_arrays(kept)
    return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in kept.items()}


def write_arrays(kept: Any) -> str:
    """Return the JSON of the arrays by name: type, shape and content of each.

    Raises:
        CandidateError: They are too large, or not arrays.
    """
    _check_arrays(kept)
    arrays = {}
    for name, array in kept.items():
        content = array.astype(array.dtype.newbyteorder("<"), copy=False)
        packed = base64.b64encode(zlib.compress(content.tobytes())).decode()
        arrays[name] = [content.dtype.str, list(array.shape), packed]
    return json.dumps({"arrays": arrays})


def _check_arrays(kept: Any) -> None:
    if type(kept) is not dict:
        raise _refuse(f"{KEPT} is a {type(kept).__name__}: make it a dict of arrays by name")
    if len(kept) > MAX_OF_PROBE:
        raise _refuse(f"{KEPT} has {len(kept)} arrays: keep at most {MAX_OF_PROBE}")
    size = 0
    for name, array in kept.items():
        if type(name) is not str or not NAME.fullmatch(name):
            raise _refuse(f"{KEPT} has a name that is no identifier of at most 40 characters: {str(name)[:60]!r}")
        if type(array) is not np.ndarray:
            raise _refuse(f"{KEPT}[{name!r}] is a {type(array).__name__[:40]}: keep a numpy array")
        if not DTYPE.fullmatch(array.dtype.newbyteorder("<").str):
            raise _refuse(f"{KEPT}[{name!r}] has type {array.dtype}: keep bool, integers, float32 or float64")
        if not array.size:
            raise _refuse(f"{KEPT}[{name!r}] has no elements")
        size += array.nbytes
    if size > MAX_BYTES:
        raise _refuse(f"the arrays of {KEPT} have {size:,} bytes: keep at most {MAX_BYTES:,}")


def _refuse(why: str) -> CandidateError:
    return CandidateError(why, Status.INVALID)
