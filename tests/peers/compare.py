"""The same 64 programs through oragent and other frameworks: ``python -m tests.peers.compare NAME=PYTHON[:PATH]...``.

With ``--cheats`` first, only two honest programs and the five cheats play.

Not a test: it takes minutes, and programs attack this machine (``programs.py``). Each framework plays in a process of
its own with a key in its environment and a limit on the address space of each process. A player that ends early begins
again behind the program that ended it. ``resume.py`` measures what a run keeps after ``kill -9``.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.peers.programs import KEY, LEAK, PeerProgram, list_programs

HERE = Path(__file__).parent
# Seconds of the whole list.
LIMIT_S = 2400
# Seconds of a program: CPU seconds in oragent, and of the clock elsewhere, where a loaded machine needs more of them.
PROGRAM_S = {"oragent": 10, "openevolve": 20, "shinka": 59, "eoh": 20, "llm4ad": 20}
# Seconds without a result after which a player is ended; oragent writes all of them at its end.
IDLE_S = {"oragent": 1800, "openevolve": 120, "shinka": 120, "eoh": 120, "llm4ad": 120}
# Bytes of address space of each process: more than the 3 GiB of the memory programs, far less than the machine has.
ADDRESS_SPACE = 8 << 30
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of processes whose parent ends, so that it can count and end them."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def end_children() -> int:
    """End all processes below this one, and return how many were still running."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    count = 0
    while pids := [int(word) for word in children.read_text().split()]:
        for pid in pids:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                count += 1
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return count


def limit_address_space() -> None:
    """Limit the address space of this process and of those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


class CpuAccount:
    """CPU seconds of a process and of all that it starts, by a control group; it needs root and version 1."""

    def __init__(self) -> None:
        self._group = Path(f"/sys/fs/cgroup/cpuacct/peers_{os.getpid()}")
        self._group.mkdir()

    def join(self) -> None:
        """Count this process and those that it starts from now on."""
        (self._group / "tasks").write_text(str(os.getpid()))

    def close(self) -> float:
        """Return the CPU seconds of all processes, which have ended."""
        seconds = int((self._group / "cpuacct.usage").read_text()) / 1e9
        self._group.rmdir()
        return seconds


def play(name: str, python: str, path: str, programs: list[PeerProgram]) -> dict[str, object]:
    """Play programs with one framework and count what happened."""
    # a file for each framework, so that several commands can play at once
    leak = Path("/tmp") / f"{name}_{LEAK}"
    leak.unlink(missing_ok=True)
    folder = Path(tempfile.mkdtemp())
    (folder / "programs.json").write_text(json.dumps([program.text.replace(LEAK, leak.name) for program in programs]))
    results = folder / "results.jsonl"
    results.touch()
    places = os.pathsep.join(filter(None, [path, str(HERE.parents[1]) if name == "oragent" else ""]))
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "PYTHONPATH": places}
    begun, account = time.monotonic(), CpuAccount()
    first, ended, processes = 0, [], 0
    while first < len(programs) and time.monotonic() - begun < LIMIT_S:
        words = [str(folder / "programs.json"), str(results), str(first), str(PROGRAM_S[name])]
        command = [python, str(HERE / f"play_{name}.py"), *words]
        with open(folder / "log.txt", "a") as log:
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=log, cwd=folder, start_new_session=True,
                preexec_fn=lambda: (limit_address_space(), account.join()),
            )  # fmt: skip
            seen, since = -1, time.monotonic()
            while process.poll() is None and time.monotonic() - since < IDLE_S[name]:
                count = results.read_bytes().count(b"\n")
                if count != seen:
                    seen, since = count, time.monotonic()
                time.sleep(0.2)
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            processes += end_children()
        done = [json.loads(line)[0] for line in results.read_text().splitlines()]
        if not done:
            raise SystemExit(
                f"{name}: no result of the first program, which is honest: {(folder / 'log.txt').read_text()[-2000:]}"
            )
        following = max(done) + 1
        if following < len(programs):
            ended.append(programs[following].kind)
            following += 1
        first = following
    scores = dict(json.loads(line) for line in results.read_text().splitlines())
    best = min(
        (number for number in scores if scores[number] is not None), key=lambda number: scores[number], default=None
    )
    lost = [
        number
        for number, program in enumerate(programs)
        if program.kind in ("honest", "repeat") and scores.get(number) is None
    ]
    # without its trick, every cheat is the rule of the nearest city
    honest = (scores.get(number) for number, program in enumerate(programs) if program.kind == "honest")
    plain = next(honest, None) or 0.0
    # the cheat that only reads the key has an honest score
    cheats = [number for number, program in enumerate(programs) if program.kind == "cheat" and LEAK not in program.text]
    return {
        "framework": name,
        "forged scores, of 4": sum(
            scores.get(number) is not None and scores[number] < plain - 1e-6 for number in cheats
        ),
        "reported best": None if best is None else [scores[best], programs[best].kind],
        "key read": leak.is_file() and KEY in leak.read_text(),
        "honest programs lost": len(lost),
        # by a change that an earlier program made in the process of the scorer
        "honest programs with a forged score": sum(
            program.kind in ("honest", "repeat") and (scores.get(number) or plain) < plain / 2
            for number, program in enumerate(programs)
        ),
        "programs that ended it": dict(Counter(ended)),
        "scored by kind": dict(Counter(programs[number].kind for number in scores if scores[number] is not None)),
        "processes left": processes,
        "CPU s": round(account.close(), 1),
        "clock s": round(time.monotonic() - begun, 1),
    }


def choose_programs(is_short: bool) -> list[PeerProgram]:
    """Return all programs, or two honest ones and the cheats."""
    programs = list_programs()
    if not is_short:
        return programs
    return [*programs[:2], *(program for program in programs if program.kind == "cheat")]


if __name__ == "__main__":
    adopt_orphans()
    chosen = choose_programs("--cheats" in sys.argv)
    for word in [word for word in sys.argv[1:] if word != "--cheats"]:
        framework, _, rest = word.partition("=")
        interpreter, _, extra = rest.partition(":")
        print(json.dumps(play(framework, interpreter, extra, chosen)), flush=True)
