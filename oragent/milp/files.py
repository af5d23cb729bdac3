"""Read a model from a file of any origin, and write one."""

import os
import subprocess
import sys
from pathlib import Path

from oragent._base.errors import MilpError
from oragent.milp.as_json import from_json, point_from_json, to_json
from oragent.milp.as_text import FORMS, to_text
from oragent.milp.model import Milp
from oragent.milp.plain import plain
from oragent.milp.reader import REFUSED

LARGEST = 64 << 20  # bytes
CHILD = "import sys; from oragent.milp.reader import main; sys.exit(main(sys.argv[1], int(sys.argv[2])))"
PATIENCE_S = 10.0  # CPU seconds of a reading process, and one more a megabyte


def read(path: Path) -> Milp:
    """Read a model from ``.json``, ``.mps`` or ``.lp``.

    MPS and LP files are parsed in a process of their own, with limits: a broken one can keep HiGHS's reader busy for
    ever.

    Raises:
        MilpError: The file is missing, empty, too large, no text, or holds no model; the line begins with its name.
    """
    where = plain(str(path), 200)
    form = path.suffix.lower().lstrip(".")
    if form != "json" and form not in FORMS:
        raise MilpError(f"{where}: expected a file that ends in .json, .mps or .lp")
    content = _content(path, "a model")
    try:
        return from_json(content) if form == "json" else _read_apart(content, form)
    except MilpError as problem:
        raise MilpError(f"{where}: {problem}") from None


def read_point(path: Path) -> dict[str, float]:
    """Read the values of a point by variable from a JSON file: an object of numbers, or a ``solution.json``.

    Raises:
        MilpError: The file is missing, empty, too large, or holds no such values; the line begins with its name.
    """
    content = _content(path, "a point")
    try:
        return point_from_json(content)
    except MilpError as problem:
        raise MilpError(f"{plain(str(path), 200)}: {problem}") from None


def _content(path: Path, what: str) -> bytes:
    where = plain(str(path), 200)
    try:
        if path.stat().st_size > LARGEST:
            raise MilpError(f"{where}: {path.stat().st_size:,} bytes; expected at most {LARGEST:,}")
        content = path.read_bytes()
    except OSError as problem:
        raise MilpError(f"{where}: {problem.strerror or problem}; expected a file to read") from None
    if not content.strip():
        raise MilpError(f"{where}: empty; expected {what}")
    if b"\0" in content:
        raise MilpError(f"{where}: binary; expected a text")
    return content


def write(milp: Milp, path: Path) -> None:
    """Write a model as ``.json``, ``.mps`` or ``.lp``; JSON alone keeps units and meanings.

    Raises:
        MilpError: The file's name has another ending.
    """
    form = path.suffix.lower().lstrip(".")
    if form != "json" and form not in FORMS:
        raise MilpError(f"{plain(str(path), 200)}: expected a file that ends in .json, .mps or .lp")
    path.write_text(to_json(milp) if form == "json" else to_text(milp, form), encoding="utf-8")


def _read_apart(content: bytes, form: str) -> Milp:
    """Parse in a child, which answers with the model as JSON, or with one line of complaint."""
    seconds = PATIENCE_S + len(content) / (1 << 20)
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PATH": os.environ.get("PATH", "")}
    if "" in sys.path:
        environment["PYTHONPATH"] += os.pathsep + str(Path.cwd())
    try:
        ended = subprocess.run(
            [sys.executable, "-c", CHILD, form, str(int(seconds))],
            input=content, capture_output=True, env=environment, timeout=10 * seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MilpError("not read in time: the file is broken, or the machine is busy") from None
    if ended.returncode == REFUSED:
        raise MilpError(plain(ended.stderr.decode(errors="replace").strip(), 500))
    if ended.returncode:
        raise MilpError(f"HiGHS's reader broke down on it (exit code {ended.returncode}): the file is broken")
    return from_json(ended.stdout)
