"""A key of this process reaches no child of any kind: not its variables, memory, command line or files."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oragent.sandbox.confined_command import can_confine
from tests.sources import ROOT

KEY = "sk-planted-81726354"
# Starts each kind of child and waits. The names of the variables are those of real keys.
DRIVER = """
import sys, subprocess, threading
from pathlib import Path
from oragent.evaluation.cluster import worker
from oragent.evaluation.cluster.cluster_settings import make_certificates
from oragent.programs import parser_client
from oragent.report.live.server import open_companion
from oragent.sandbox.children import ChildLimits, run_child, run_python
from oragent.sandbox.confined_command import ProgramAccess, wrap_command
from oragent.sandbox.isolation import compiler
from oragent.sandbox.messages import Command, Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.git_store import run_git

place = Path(sys.argv[1])
for name in ("child", "agent", "build", "runs", "tls", "git"):
    (place / name).mkdir()
(place / "git" / "git").write_text("#!/bin/sh\\nsleep 611\\n")
(place / "git" / "git").chmod(0o755)
compiler.compiler_files = lambda *words: (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))


def start_child():
    run_child(["/bin/sleep", "612"], ProgramAccess(str(place / "child"), is_lenient=True), ChildLimits(wall_s=600))


def start_git():
    import os
    os.environ["PATH"] = f"{place / 'git'}:{os.environ['PATH']}"
    run_git(["log"], ProgramAccess(str(place / "git"), is_lenient=True))


def start_reader():
    run_python("import time; time.sleep(613)", [], ChildLimits(wall_s=600), b"")


def start_command():
    Sandbox()(Command(("/bin/sleep", "614"), limits=Limits(wall_s=600, idle_s=600)))


def start_agent():
    command = wrap_command(["/bin/sleep", "615"], ProgramAccess(str(place / "agent")) if sys.argv[2] == "1" else None)
    subprocess.run(command, env={"PATH": "/usr/bin:/bin"})


def start_compiler():
    compiler.run_compiler(["/bin/sleep", "616"], place / "build", {"PATH": "/usr/bin:/bin"})


def start_page():
    with open_companion(place / "runs", print):
        threading.Event().wait()


def start_parser():
    client = parser_client.ParserClient()
    client._ensure_started()
    threading.Event().wait()


def start_worker():
    worker.LocalWorkers(1, make_certificates(place / "tls"), print).start("tls://127.0.0.1:9")
    threading.Event().wait()


for start in (start_child, start_git, start_reader, start_command, start_agent, start_compiler, start_page,
              start_parser, start_worker):
    threading.Thread(target=start, daemon=True).start()
threading.Event().wait()
"""
# Words in the command lines of the children, one of each kind.
MARKS = [f"sleep\0{number}" for number in (611, 612, 614, 615, 616)]
MARKS += ["sleep(613)", "oragent\0watch", "cluster.worker", "sandbox.server", "serve_starts", "programs.parser_worker"]


def read(process: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def descendants(process: int) -> list[int]:
    """Processes below a process, in any namespace."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        text = read(int(entry.name), "stat").rpartition(b")")[2].split()
        if text:
            parents[int(entry.name)] = int(text[1])
    below = {process}
    for _ in range(20):
        below |= {child for child, parent in parents.items() if parent in below}
    return sorted(below - {process})


def memory(process: int) -> bytes:
    """Private writable memory of a process, which holds variables, arguments and data; empty if it is hidden."""
    parts = []
    try:
        with open(f"/proc/{process}/mem", "rb", buffering=0) as file:
            for line in read(process, "maps").decode().splitlines():
                limits, rights, *_ = line.split()
                first, last = (int(number, 16) for number in limits.split("-"))
                if rights.startswith("rw") and last - first < 1 << 26:
                    file.seek(first)
                    parts.append(file.read(last - first))
    except OSError:
        pass
    return b"".join(parts)


def places_of_key(process: int) -> list[str]:
    """Where a process holds the key."""
    contents = {name: read(process, name) for name in ("environ", "cmdline")} | {"memory": memory(process)}
    return [name for name, content in contents.items() if KEY.encode() in content]


def test_no_child_of_any_kind_holds_a_key(tmp_path):
    pytest.importorskip("cryptography")
    pytest.importorskip("starlette")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    variables |= {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "HF_TOKEN": KEY, "MY_DATABASE": KEY}
    (tmp_path / "place").mkdir()
    words = [sys.executable, "-c", DRIVER, str(tmp_path / "place"), "1" if can_confine() else "0"]
    with (tmp_path / "log").open("wb") as log:
        driver = subprocess.Popen(words, env=variables, stdout=log, stderr=log, start_new_session=True)
    try:
        missing, until = MARKS, time.monotonic() + 120
        while missing and time.monotonic() < until and driver.poll() is None:
            time.sleep(0.2)
            lines = [read(process, "cmdline").decode(errors="replace") for process in descendants(driver.pid)]
            missing = [mark for mark in MARKS if not any(mark in line for line in lines)]
        assert not missing, (missing, (tmp_path / "log").read_text())
        found = {read(process, "cmdline"): places_of_key(process) for process in descendants(driver.pid)}
        assert not {words: places for words, places in found.items() if places}
        # The search finds keys where they are.
        assert "environ" in places_of_key(driver.pid)
        assert "memory" in places_of_key(driver.pid) or not memory(driver.pid)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert not [path for path in files if KEY.encode() in path.read_bytes()]
    finally:
        driver.kill()
        driver.wait()
