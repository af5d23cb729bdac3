"""Search while the machine fails, resume when it is mended, and see that nothing is lost, paid twice or left behind.

    python tests/benchmarks/soak_faults.py [NAME ...]

Thirty faults: full and read-only disks (in a mount namespace, as root), few open files, kernels without some mechanism.
Prints for each fault the end of the run and of its resumption, and what was lost.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent.sandbox.isolation.mechanisms import FORBID  # noqa: E402
from tests.benchmarks.soak_candidates import read_stored, wait_for_processes  # noqa: E402
from tests.benchmarks.soak_server import RNG, Hostile, write_program, write_reply  # noqa: E402
from tests.conftest import DESCRIPTION, EVALUATOR  # noqa: E402

EVALUATIONS = 12
INSIDE = "ORAGENT_SOAK_NAMESPACE"
LIMIT_S = 180.0
WHOLE = "64m"
FILLER = "filler"


class Honest(Hostile):
    """Sends another program each time, and counts them."""

    sent = 0
    # callback before a reply is sent
    before: Callable[[int], None] = staticmethod(lambda number: None)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).sent += 1
        type(self).before(self.sent)
        self.send_body(write_reply(write_program()))


@dataclass(frozen=True)
class MachineFault:
    """A fault of the machine.

    Attributes:
        name: Name in the table.
        prefix: Words before the command.
        environment: Variables of the command.
        disk: Folder on a disk of its own, ``outputs`` or ``tmp``; empty: none.
        options: Options of that disk from the beginning.
        full_at: Number of the reply before which that disk becomes full; 0: it does not.
    """

    name: str
    prefix: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    disk: str = ""
    options: str = f"size={WHOLE}"
    full_at: int = 0


def list_faults() -> Iterator[MachineFault]:
    for size in ("16k", "64k", "128k", "192k", "256k", "320k", "400k", "512k"):
        yield MachineFault(f"disk of the run full at {size}", disk="outputs", options=f"size={size}")
    for size in ("4k", "16k", "64k", "256k"):
        yield MachineFault(f"temporary files full at {size}", disk="tmp", options=f"size={size},mode=1777")
    for number in (1, 2, 4, 6, 9):
        yield MachineFault(f"disk full at reply {number}", disk="outputs", options="size=4m", full_at=number)
    yield MachineFault("disk read-only from the start", disk="outputs", options="ro")
    yield MachineFault("temporary files read-only", disk="tmp", options="ro,mode=1777")
    for number in (8, 12, 16, 20, 24, 32, 48, 64):
        words = ("sh", "-c", f'ulimit -n {number}; exec "$@"', "sh")
        yield MachineFault(f"{number} open files", prefix=words)
    for forbidden in ("limits", "without:namespaces", "without:landlock"):
        yield MachineFault(f"isolation {forbidden}", environment=((FORBID, forbidden),))


@contextmanager
def mounted(path: Path, options: str) -> Iterator[None]:
    """Mount a disk in memory."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(disk: Path) -> None:
    """Fill a disk."""
    with suppress(OSError), (disk / FILLER).open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def run_command(command: Sequence[str], environment: dict[str, str]) -> tuple[int | str, str]:
    """Return the exit code of a command, and what it printed."""
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return ended.returncode, ended.stdout + ended.stderr


def read_run(outputs: Path) -> dict[str, Counter[str]]:
    """Return all that the run has paid for and committed; nothing before it has a database."""
    for folder in (outputs / "toy").glob("*"):
        try:
            return read_stored(folder)
        except sqlite3.Error:
            break
    return {}


def last_line(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return lines[-1][:150] if lines else ""


def drive(fault: MachineFault, port: int, base: Path) -> list[str]:
    """Run, mend, resume; print a line and return what went wrong."""
    root, temporary = base / "project", base / "tmp"
    outputs, toy = root / "outputs", root / "problems" / "toy"
    for folder in (outputs, toy, temporary):
        folder.mkdir(parents=True)
    temporary.chmod(0o1777)
    for name, text in (("problem.yaml", DESCRIPTION), ("eval.py", EVALUATOR)):
        (toy / name).write_text(text)
    (toy / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(base)}
    oragent = [sys.executable, "-m", "oragent"]
    options = [f"model.base_url=http://127.0.0.1:{port}/v1", f"budget.evaluations={EVALUATIONS}", "workers=2"]
    begin = [*oragent, "run", "toy", "--root", str(root), "--model", "m", "--strategy", "random", *options]
    disk = {"outputs": outputs, "tmp": temporary}.get(fault.disk)
    Honest.sent = 0
    Honest.before = staticmethod(lambda sent: fill(disk) if disk and sent == fault.full_at else None)
    faulty = {**environment, **dict(fault.environment)}
    if disk is None:
        return judge(fault, base, *attempt(fault, begin, faulty, environment, oragent, outputs, lambda: None))
    with mounted(disk, fault.options):

        def mend() -> None:
            subprocess.run(["mount", "-o", f"remount,rw,size={WHOLE}", disk], check=True)
            (disk / FILLER).unlink(missing_ok=True)

        return judge(fault, base, *attempt(fault, begin, faulty, environment, oragent, outputs, mend))


def attempt(
    fault: MachineFault,
    begin: list[str],
    faulty: dict[str, str],
    environment: dict[str, str],
    oragent: list[str],
    outputs: Path,
    mend: Callable[[], None],
) -> tuple[tuple[int | str, str], tuple[int | str, str], dict[str, Counter[str]], dict[str, Counter[str]], int]:
    first = run_command([*fault.prefix, *begin], faulty)
    Honest.before = staticmethod(lambda sent: None)
    mend()
    before, sent = read_run(outputs), Honest.sent
    runs = [path for path in (outputs / "toy").glob("*") if (path / "run.db").is_file()] if outputs.exists() else []
    command = [*oragent, "resume", "--trust", str(runs[0])] if runs else begin
    second = run_command(command, environment)
    if second[0] != 0 and runs and not before:
        # The run had not begun: its folder holds nothing, and a new run takes its place.
        second = run_command(begin, environment)
        shutil.rmtree(runs[0])
    return first, second, before, read_run(outputs), sent


def judge(
    fault: MachineFault,
    base: Path,
    first: tuple[int | str, str],
    second: tuple[int | str, str],
    before: dict[str, Counter[str]],
    after: dict[str, Counter[str]],
    sent: int,
) -> list[str]:
    lost = sum((before[kind] - after.get(kind, Counter())).total() for kind in before)
    replies = after.get("replies", Counter())
    twice = sum(times - 1 for times in replies.values())
    unstored = sent - before.get("replies", Counter()).total()
    left = wait_for_processes(str(base))
    files = [path.name for path in (base / "tmp").iterdir()]
    wrong = [
        words
        for words, is_wrong in (
            ("hangs", "hangs" in (first[0], second[0])),
            ("traceback", "Traceback" in first[1] + second[1]),
            ("no line", first[0] != 0 and not first[1].strip()),
            (f"resume: {second[0]} {last_line(second[1])}", second[0] != 0),
            (f"lost {lost}", lost),
            (f"twice {twice}", twice),
            # Without a folder there is only the check whether the server answers.
            (f"replies lost {unstored}", unstored > (0 if before else 1)),
            (f"processes left {left}", left),
            (f"temporary files {files[:3]}", files),
        )
        if is_wrong
    ]
    print(
        f"{fault.name:32s} exit {first[0]}, sent {sent}, stored {sent - unstored}; resumed {second[0]}, {wrong or 'held'}"
    )
    print(f"    {last_line(first[1])}", flush=True)
    if "traceback" in wrong or "hangs" in wrong:
        print(first[1][-1500:], second[1][-1500:])
    return wrong


def main() -> int:
    if INSIDE not in os.environ:
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    RNG.seed(time.time_ns())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Honest)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    faults = [fault for fault in list_faults() if not sys.argv[1:] or any(word in fault.name for word in sys.argv[1:])]
    bad = 0
    for fault in faults:
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o711)
            bad += bool(drive(fault, server.server_port, Path(name)))
    print(f"{len(faults)} faults, {bad} of them not held")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
