"""Reader for the TSPLIB files of the symmetric TSP in the plane.

Source: Reinelt 1991, TSPLIB, a traveling salesman problem library, DOI 10.1287/ijoc.3.4.376.
"""

from pathlib import Path

import numpy as np

from oragent._base.errors import ProblemError
from oragent.domains.tsp import Rounding, TspInstance

KNOWN = {rounding.value: rounding for rounding in (Rounding.NEAREST, Rounding.UP)}


def read_tsplib(path: Path) -> TspInstance:
    """Read a ``.tsp`` file whose lengths are EUC_2D or CEIL_2D.

    Raises:
        ProblemError: if the file is missing, breaks the format, or has lengths of another type.
    """
    try:
        lines = [row.strip() for row in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"{path}: cannot be read ({problem}); expected a TSPLIB file") from None
    header = {key.strip(): value.strip() for key, colon, value in (row.partition(":") for row in lines) if colon}
    kind = header.get("EDGE_WEIGHT_TYPE", "nothing")
    if kind not in KNOWN:
        raise ProblemError(f"{path}: EDGE_WEIGHT_TYPE is {kind}; expected one of {', '.join(KNOWN)}")
    try:
        count = int(header["DIMENSION"])
        first = lines.index("NODE_COORD_SECTION") + 1
        rows = [row.split() for row in lines[first : first + count]]
        coordinates = np.array([[float(x), float(y)] for _, x, y in rows])
        if len(rows) != count:
            raise ValueError(f"{len(rows)} cities where DIMENSION says {count}")
        return TspInstance(coordinates, KNOWN[kind])
    except (KeyError, ValueError) as problem:
        raise ProblemError(f"{path}: broken ({problem}); expected DIMENSION and as many lines of city, x, y") from None
