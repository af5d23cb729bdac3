"""A key of this process reaches no child of any kind: not its variables, memory, command line or files."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oragent.sandbox.confinement_trial import explain_unconfined
from tests.sources import ROOT

KEY = "sk-planted-81726354"
# Starts each kind of child and waits. The names of the variables are those of real keys.
DRIVER = """
import os, sys, subprocess, threading
from pathlib import Path
from types import SimpleNamespace
from oragent._base.errors import OragentError
from oragent.domains.driving import network, simulation
from oragent.evaluation.cluster import worker
from oragent.evaluation.cluster.cluster_settings import make_certificates
from oragent.programs import parser_client
from oragent.report.live.server import open_companion
from oragent.sandbox.children import ChildLimits, run_child, run_python
from oragent.sandbox.confined_command import ProgramAccess, wrap_command
from oragent.evaluation import devices
from oragent.evaluation.cluster.batch import BatchJobs
from oragent.evaluation.cluster.cluster_settings import Certificates, ClusterKind, ClusterSettings
from oragent.sandbox import reading
from oragent_benchmarks.skills.benchmark import run_task
from oragent_benchmarks.skills.tasks import TASKS
from oragent.sandbox.messages import Command, Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.git_store import run_git

EVALUATOR = sys.argv[3]
place = Path(sys.argv[1])
for name in ("child", "agent", "runs", "tls", "git", "batch", "road"):
    (place / name).mkdir()
(place / "git" / "git").write_text("#!/bin/sh\\nsleep 611\\n")
(place / "git" / "git").chmod(0o755)
(place / "batch" / "sbatch").write_text("#!/bin/sh\\nsleep 617\\n")
(place / "batch" / "sbatch").chmod(0o755)
(place / "road" / "sumo").write_text("#!/bin/sh\\nsleep 619\\n")
(place / "road" / "sumo").chmod(0o755)
network.binary = lambda name: place / "road" / name
network.load = lambda name: SimpleNamespace(connect=lambda *words, **more: threading.Event().wait())
os.environ["PATH"] = f"{place / 'git'}:{place / 'batch'}:{os.environ['PATH']}"
reading.CHILD = "import time; time.sleep(621)"
devices.QUESTION = "import time; time.sleep(624)"


def start_child():
    run_child(["/bin/sleep", "612"], ProgramAccess(str(place / "child"), is_lenient=True), ChildLimits(wall_s=600))


def start_git():
    run_git(["log"], ProgramAccess(str(place / "git"), is_lenient=True))


def start_reader():
    run_python("import time; time.sleep(613)", [], ChildLimits(wall_s=600), b"")


def start_command():
    Sandbox()(Command(("/bin/sleep", "614"), limits=Limits(wall_s=600, idle_s=600)))


def start_agent():
    command = wrap_command(["/bin/sleep", "615"], ProgramAccess(str(place / "agent")) if sys.argv[2] == "1" else None)
    subprocess.run(command, env={"PATH": "/usr/bin:/bin"})


def start_evaluator():
    # It forks itself for compilers and programs of SUMO.
    Sandbox()(Command((sys.executable, "-c", EVALUATOR), limits=Limits(wall_s=600, idle_s=600)))


def start_batch():
    tls = Certificates(place, place, place)
    BatchJobs(ClusterSettings(ClusterKind.SLURM), tls, place, print)._call_command(("sbatch", "file"), None)


def start_skills():
    settings = {"agent": "sleep 618", "agent_settings": [] if sys.argv[2] == "1" else ["confined=false"], "seconds": 600.0}
    run_task(TASKS[0], "", settings)


def start_file_reader():
    # Models, tables and documents are read by it.
    reading.read_in_child("any:reader", b"", ".lp", OragentError)


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


for start in (start_child, start_git, start_reader, start_command, start_agent, start_evaluator, start_page,
              start_parser, start_worker, start_batch, start_skills, start_file_reader, devices._ask_torch,
              lambda: simulation.Connected([])):
    threading.Thread(target=start, daemon=True).start()
threading.Event().wait()
"""
# An evaluator with its children.
EVALUATOR = """
import tempfile, threading
from pathlib import Path
from types import SimpleNamespace
from oragent.domains.driving import network
from oragent.sandbox import compiler

place = Path(tempfile.mkdtemp())
for name in ("build", "road"):
    (place / name).mkdir()
compiler.compiler_files = lambda *words: (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))
(place / "road" / "netconvert").write_text("#!/bin/sh\\nsleep 620\\n")
(place / "road" / "netconvert").chmod(0o755)
network.binary = lambda name: place / "road" / name
plan = SimpleNamespace(sources={}, options=())
for start in (
    lambda: compiler.run_compiler(["/bin/sleep", "616"], place / "build", {"PATH": "/usr/bin:/bin"}),
    lambda: network._run_netconvert(place / "road", "road.net.xml", plan),
):
    threading.Thread(target=start, daemon=True).start()
threading.Event().wait()
"""
# Words in the command lines of the children, one of each kind.
MARKS = [f"sleep\0{number}" for number in (611, 612, *range(614, 621))]
MARKS += [f"sleep({number})" for number in (613, 621, 624)]
MARKS += ["oragent\0watch", "cluster.worker", "sandbox.server", "serve_starts", "programs.parser_worker"]


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
    variables["PYTHONPATH"] += f"{os.pathsep}{ROOT / 'benchmarks'}"
    variables |= {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "HF_TOKEN": KEY, "MY_DATABASE": KEY}
    (tmp_path / "place").mkdir()
    words = [
        sys.executable,
        "-c",
        DRIVER,
        str(tmp_path / "place"),
        "1" if (not explain_unconfined()) else "0",
        EVALUATOR,
    ]
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
