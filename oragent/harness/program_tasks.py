"""Tasks whose candidate is a program with standard input and output: ALE-Bench.

A task has the files of a problem of ALE-Bench: ``data.json`` with the kind of the problem, its limits and seeds, and
the built tools. ``gen`` makes the inputs of seeds. ``tester`` prints the score of an output of a ``batch`` problem. In
a ``reactive`` one it starts the program and talks with it; here it starts a script that passes bytes on.
"""

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status
from oragent._base.racing import BY_INSTANCE
from oragent._base.text_format import one_line
from oragent.harness.program_streams import Exchange

DATA, INPUTS, GEN = "data.json", "inputs", "gen"
# Keys of the seeds of a mode, the preferred one first, and names of the folders with inputs.
SETS: Mapping[str, tuple[str, ...]] = {
    "train": ("public_lite", "public"),
    "val": ("public",),
    "test": ("private",),
}
BATCH, REACTIVE = "batch", "reactive"
SCORE = re.compile(r"Score = ([0-9]+)")
MAX_OUTPUT, MAX_MESSAGE, CHUNK = 64 << 20, 200, 1 << 16
# Wall seconds for the tools to end, and between two looks at the tester.
TOOL_S, LOOK_S = 300.0, 0.002
# Passes bytes between its own streams and two pipes, until the second one is closed.
PASS_ON = 'exec 3<&0 4>"$1"; cat <&3 >&4 & exec 4>&-; cat "$2"; kill $! 2>/dev/null; exit 0'
# Function that runs the candidate on a case, and returns the output that was not sent.
RunProgram = Callable[[Exchange], bytes]


def score_programs(task: Path, tester: Path, run: RunProgram, call_s: float | None, mode: str) -> dict[str, Any]:
    """Return the sum of the scores of all cases, as ALE-Bench's absolute score.

    Args:
        task: Folder of the task.
        tester: Its tester.
        run: The candidate.
        call_s: Wall seconds of a case; None means no limit.
        mode: ``train`` and ``val`` for the public cases, ``test`` for the private ones.

    Raises:
        ProblemError: The task lacks cases.
        CandidateError: The candidate failed, or the tester rejects one of its outputs.
    """
    with tempfile.TemporaryDirectory() as work:
        cases = find_cases(task, tester.with_name(GEN), mode, Path(work))
        is_reactive = read_data(task)["metadata"]["problem_type"] == REACTIVE
        scores = []
        for number, case in enumerate(cases):
            folder = Path(work, f"case-{number}")
            folder.mkdir()
            score_case = _score_reactive if is_reactive else _score_batch
            scores.append(score_case(tester, case, folder, run, call_s or TOOL_S))
            print(f"{case.name}: {scores[-1]}", file=sys.stderr)
    return {
        "combined_score": float(sum(scores)),
        "instances": len(scores),
        "mean": sum(scores) / len(scores),
        BY_INSTANCE: {"all": scores},
    }


def read_data(task: Path) -> Any:
    """Read the description of a task."""
    return json.loads((task / DATA).read_text(encoding="utf-8"))


def find_cases(task: Path, gen: Path, mode: str, work: Path) -> list[Path]:
    """Return the inputs of a mode: those in the task's folder, or those that ``gen`` makes of the seeds.

    Raises:
        ProblemError: The task lacks them.
    """
    seeds = read_data(task).get("seeds") or {}
    for name in SETS[mode]:
        if cases := sorted((task / INPUTS / name).glob("*.txt")):
            return cases
        if gen.is_file() and seeds.get(name):
            (work / "seeds.txt").write_text("".join(f"{int(seed)}\n" for seed in seeds[name]), encoding="ascii")
            (work / "in").mkdir()
            subprocess.run([str(gen), "seeds.txt"], cwd=work, check=True, timeout=TOOL_S, stdout=subprocess.DEVNULL)
            if cases := sorted((work / "in").glob("*.txt")):
                return cases
    raise ProblemError(f"{task} has no inputs for mode {mode}: neither {gen} nor {task / INPUTS / SETS[mode][-1]}")


class FileExchange:
    """Other side of a program of a batch problem: gives the input at once, and keeps the output."""

    def __init__(self, content: bytes) -> None:
        self._input, self.written = content, bytearray()

    def exchange(self, written: bytes, waits: bool) -> bytes:
        """Take output, and return the input if the program waits for it the first time."""
        self.written += check_bytes(written)
        if len(self.written) > MAX_OUTPUT:
            raise CandidateError(f"wrote more than {MAX_OUTPUT >> 20} MiB", Status.INVALID)
        content, self._input = (self._input, b"") if waits else (b"", self._input)
        return content


def _score_batch(tester: Path, case: Path, folder: Path, run: RunProgram, limit_s: float) -> int:
    streams = FileExchange(case.read_bytes())
    streams.exchange(run(streams.exchange), False)
    output = folder / "output.txt"
    output.write_bytes(streams.written)
    answer = subprocess.run(
        [str(tester), str(case), str(output)], cwd=folder, capture_output=True, timeout=TOOL_S + limit_s, check=False
    )
    return read_score(answer.returncode, answer.stderr, case.name)


class TesterExchange:
    """Other side of a program of a reactive problem: the tester, which writes when it has something to say."""

    def __init__(self, reader: int, writer: int, limit_s: float) -> None:
        self._reader, self._writer, self._limit_s = reader, writer, limit_s
        self._count = 0

    def exchange(self, written: bytes, waits: bool) -> bytes:
        """Pass on output, and return the words of the tester, possibly none at their end or without waiting."""
        rest, content = memoryview(check_bytes(written)), b""
        self._count += len(rest)
        deadline = time.monotonic() + self._limit_s
        if self._count > MAX_OUTPUT:
            raise CandidateError(f"wrote more than {MAX_OUTPUT >> 20} MiB", Status.INVALID)
        while rest or (waits and not content):
            readers, writers, _ = select.select([self._reader], [self._writer] if rest else [], [], find_rest(deadline))
            if readers:
                chunk = os.read(self._reader, CHUNK)
                if not chunk:
                    return content
                content += chunk
                if len(content) > MAX_OUTPUT:
                    raise ProblemError(f"the tester writes more than {MAX_OUTPUT >> 20} MiB to a program")
            if writers:
                try:
                    rest = rest[os.write(self._writer, rest[:4096]) :]
                except BrokenPipeError:
                    return content
        return content


def _score_reactive(tester: Path, case: Path, folder: Path, run: RunProgram, limit_s: float) -> int:
    requests, answers = folder / "requests", folder / "answers"
    for pipe in (requests, answers):
        os.mkfifo(pipe, 0o600)
    reader, writer = os.open(requests, os.O_RDONLY | os.O_NONBLOCK), -1
    command = [str(tester), "/bin/sh", "-c", PASS_ON, "program", str(requests), str(answers)]
    errors = folder / "errors.txt"
    with case.open("rb") as given, (folder / "output.txt").open("wb") as output, errors.open("wb") as messages:
        process = subprocess.Popen(command, cwd=folder, stdin=given, stdout=output, stderr=messages)
        try:
            writer = _open_writer(answers, process)
            os.set_blocking(reader, True)
            streams = TesterExchange(reader, writer, limit_s)
            streams.exchange(run(streams.exchange), False)
            os.close(writer)
            writer = -1
            # The tester may still write to the script, which takes it.
            code = process.wait(TOOL_S)
        finally:
            process.kill()
            process.wait()
            for end in (reader, writer):
                if end >= 0:
                    os.close(end)
    return read_score(code, errors.read_bytes(), case.name)


def _open_writer(pipe: Path, process: "subprocess.Popen[bytes]") -> int:
    deadline = time.monotonic() + TOOL_S
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            # The script has not opened it yet.
            if process.poll() is not None or time.monotonic() > deadline:
                raise ProblemError("the tester of the task does not start the program") from None
            time.sleep(LOOK_S)


def find_rest(deadline: float) -> float:
    """Return the seconds that are left.

    Raises:
        CandidateError: None are left.
    """
    rest = deadline - time.monotonic()
    if rest <= 0:
        raise CandidateError("waits for the tester, which waits for the program", Status.TIMEOUT)
    return rest


def read_score(code: int, errors: bytes, name: str) -> int:
    """Return the score that a tester printed.

    Raises:
        CandidateError: It rejects the output.
    """
    # Other separators of lines may be words of the candidate in a message.
    lines = errors.decode("utf-8", "replace").strip().split("\n")
    match = SCORE.match(lines[-1])
    if code or match is None or any("wrong answer: " in line for line in lines):
        messages = (line for line in reversed(lines) if line and not SCORE.match(line))
        reason = next(messages, f"it ends with exit code {code}")
        raise CandidateError(one_line(f"{name}: the tester rejects the output: {reason}", MAX_MESSAGE), Status.INVALID)
    return int(match[1])


def check_bytes(content: Any) -> bytes:
    """Refuse an answer of a candidate's process that is not bytes."""
    if not isinstance(content, bytes):
        raise CandidateError(f"sent a {type(content).__name__} in the place of output", Status.REJECTED)
    return content


def has_set(task: Path, mode: str) -> bool:
    """Return True if a task has inputs or seeds of a mode."""
    seeds = read_data(task).get("seeds") or {}
    return any(seeds.get(name) or (task / INPUTS / name).is_dir() for name in SETS[mode])
