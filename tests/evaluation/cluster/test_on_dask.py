"""On Dask itself, whatever goes wrong: the archive of one worker, every loss made good, and each event written down."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import SandboxError, StoreError
from oragent.sandbox.isolation import landlock
from oragent.search.store import Store
from tests.evaluation.cluster.afar import ROOT, afar, environment, sleeping
from tests.extras import need

need("distributed")
SETTINGS = "strategy.window=6"


def ran(toy: Path, outputs: Path, evaluations: int = 12, **keys) -> oragent.SearchRun:
    return oragent.run(toy, evaluations=evaluations, seed=3, strategy="gp", outputs=outputs, settings=SETTINGS, **keys)


def found(run: oragent.SearchRun) -> list:
    return [(one.id, one.candidate.source, one.score, one.placed) for one in run.candidates]


def events(outputs: Path) -> str:
    return "".join(path.read_text() for path in outputs.glob("toy/*/cluster.log"))


def wait_for(outputs: Path, text: str, patience_s: float = 60.0) -> None:
    give_up = time.monotonic() + patience_s
    while text not in events(outputs):
        assert time.monotonic() < give_up, events(outputs)
        time.sleep(0.1)


@pytest.fixture
def at_home(toy: Path, tmp_path: Path) -> list:
    return found(ran(toy, tmp_path / "home", workers=1))


def later(seconds: float, action) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


@pytest.mark.slow
def test_workers_of_this_machine_find_what_is_found_without_them(toy, tmp_path, at_home) -> None:
    run = ran(toy, tmp_path / "there", cluster="local:2")
    assert found(run) == at_home
    assert events(tmp_path / "there").count("starts with 1 place") == 2


@pytest.mark.slow
def test_a_worker_that_dies_and_one_that_hangs_and_one_that_comes_late(toy, tmp_path, at_home) -> None:
    sleeping(toy, 1.0)
    expected = found(ran(toy, tmp_path / "home", workers=2))
    file = tmp_path / "cluster.yaml"
    with afar(2) as there:
        file.write_text(f"kind: address\naddress: {there.address}\nstraggler_s: 3\n")
        timers = [
            later(14, lambda: there.kill("w0")),
            later(16, lambda: there.worker("late")),
            later(20, lambda: there.kill("w1", signal.SIGSTOP)),
        ]
        run = ran(toy, tmp_path / "there", 30, cluster=str(file))
        for timer in timers:
            timer.join()
    assert found(run)[: len(expected)] == expected
    log = events(tmp_path / "there")
    assert "an evaluation was lost" in log
    assert log.count("starts with 1 place") == 3


@pytest.mark.slow
def test_a_scheduler_that_starts_anew_is_waited_for(toy, tmp_path) -> None:
    sleeping(toy, 0.5)
    expected = found(ran(toy, tmp_path / "home", 16, workers=2))
    with afar(2) as there:

        def restart() -> None:
            wait_for(tmp_path / "there", "starts with")
            time.sleep(2)
            there.kill("scheduler")
            for name in ("w0", "w1"):
                there.kill(name)
            there.scheduler()
            there.worker("w2")

        thread = threading.Thread(target=restart)
        thread.start()
        run = ran(toy, tmp_path / "there", 16, cluster=there.address)
        thread.join()
    assert found(run) == expected
    log = events(tmp_path / "there")
    assert "an evaluation was lost" in log
    assert log.count("starts with 1 place") == 3


ENGINE = """
import sys, oragent
if __name__ == "__main__":
    oragent.run(sys.argv[1], evaluations=16, seed=3, strategy="gp", outputs=sys.argv[2], cluster=sys.argv[3],
                settings=["strategy.window=6"])
"""


@pytest.mark.slow
def test_an_engine_that_was_killed_goes_on_with_the_same_cluster(toy, tmp_path) -> None:
    sleeping(toy, 0.5)
    expected = found(ran(toy, tmp_path / "home", 16, workers=2))
    (tmp_path / "engine.py").write_text(ENGINE)
    with afar(2) as there:
        words = [sys.executable, tmp_path / "engine.py", toy, tmp_path / "there", there.address]
        engine = subprocess.Popen(list(map(str, words)), env=environment())
        wait_for(tmp_path / "there", "starts with")
        (folder,) = (tmp_path / "there" / "toy").iterdir()
        while not (folder / "run.db").is_file() or _rounds(folder) < 4:
            time.sleep(0.2)
        engine.send_signal(signal.SIGKILL)
        engine.wait()
        run = oragent.resume(folder)
    assert found(run) == expected
    assert run.complete


def _rounds(folder: Path) -> int:
    try:
        with Store(folder / "run.db", readonly=True) as store:
            return len(store.records())
    except StoreError:  # it is being made
        return 0


def copy_of_ours(place: Path, version: str) -> Path:
    shutil.copytree(ROOT / "oragent", place / "oragent", ignore=shutil.ignore_patterns("__pycache__"))
    init = place / "oragent" / "__init__.py"
    init.write_text(init.read_text().replace(f'__version__ = "{oragent.__version__}"', f'__version__ = "{version}"'))
    return place


@pytest.mark.slow
def test_who_has_another_version_or_holds_less_is_not_used(toy, tmp_path, at_home) -> None:
    sleeping(toy, 0.5)
    with afar(1) as there:
        there.worker("old", environment(copy_of_ours(tmp_path / "old", "0.0.1")))

        def weaker() -> None:
            wait_for(tmp_path / "there", "starts with")
            there.worker("weak", environment(ORAGENT_ISOLATION="limits"))

        thread = threading.Thread(target=weaker)
        thread.start()
        run = ran(toy, tmp_path / "there", 24, cluster=there.address)
        thread.join()
    log = events(tmp_path / "there")
    assert "it has oragent 0.0.1" in log
    assert log.count("starts with 1 place") == 1
    assert "it joined late and lacks guarantees" in log
    assert run.complete


@pytest.mark.slow
def test_a_cluster_without_anybody_to_use_says_why(toy, tmp_path) -> None:
    with afar() as there:
        there.worker("old", environment(copy_of_ours(tmp_path / "old", "0.0.1")))
        with pytest.raises(SandboxError, match=r"0\.0\.1"):
            ran(toy, tmp_path / "there", cluster=there.address)


EVIL = """
import json, os
from oragent.evaluation.cluster.handshake import handshake_to_json, make_handshake

class Bomb:
    def __reduce__(self):
        return os.system, ("touch MARK; touch MARK.$PPID; env > MARK.env",)

def handle_request(request, *parts):
    asked = json.loads(request)["do"]
    if asked == "handshake":
        return json.dumps({"handshake": handshake_to_json(make_handshake())})
    return json.dumps({"lacks": [], "unmet": []}) if asked != "evaluate" else Bomb()
"""


@pytest.mark.slow
@pytest.mark.skipif(not landlock.abi_version(), reason="needs Landlock")
def test_who_owns_a_worker_owns_neither_the_engine_nor_a_file_of_its_user(toy, tmp_path, monkeypatch) -> None:
    """It sends a pickle that would run a program where it is read: it is read by the Dask process alone, in confinement."""
    mark = tmp_path / "mark"
    owned = copy_of_ours(tmp_path / "owned", oragent.__version__)
    cluster = owned / "oragent" / "evaluation" / "cluster"
    honest, defined = (cluster / "handshake.py").read_text(), "def _code_hash() -> str:"
    assert honest.count(defined) == 1
    lying = f"{defined}\n    return {_our_code()!r}\n\n\ndef _unused() -> str:"
    (cluster / "handshake.py").write_text(honest.replace(defined, lying))
    (cluster / "worker_entry.py").write_text(EVIL.replace("MARK", str(mark)))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-secret")
    with afar() as there:
        there.worker("owned", environment(owned))
        with pytest.raises(SandboxError):
            ran(toy, tmp_path / "there", cluster=there.address)
    assert not list(tmp_path.glob("mark*"))


def _our_code() -> str:
    from oragent.evaluation.cluster.handshake import _code_hash

    return _code_hash()


@pytest.mark.slow
def test_doctor_looks_at_each_worker() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "oragent", "doctor", "--cluster", "local:2"],
        env=environment(ORAGENT_ISOLATION="without:landlock"), capture_output=True, text=True, cwd="/",
    )  # fmt: skip
    assert ended.stdout.count("tls://127.0.0.1:") == 2
    assert ended.returncode == (1 if "nothing: all is held" not in ended.stdout else 0)


@pytest.mark.slow
def test_a_run_begins_with_what_the_weakest_does_not_hold(toy, tmp_path) -> None:
    words = [sys.executable, "-m", "oragent", "run", str(toy), "--evaluations", "3", "--cluster", "local:1"]
    ended = subprocess.run(
        [*words, "--outputs", str(tmp_path / "out")],
        env=environment(ORAGENT_ISOLATION="limits"), capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "on its worker a candidate could: start processes" in " ".join(ended.stdout.split())


@pytest.mark.slow
def test_a_courier_that_dies_is_replaced_with_its_scheduler_and_workers(toy, tmp_path) -> None:
    sleeping(toy, 0.5)
    expected = found(ran(toy, tmp_path / "home", 16, workers=2))

    def couriers() -> list[int]:
        lines = [
            (int(path.parent.name), path.read_bytes()) for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
        ]
        return [
            pid
            for pid, words in lines
            if b"oragent.evaluation.cluster.dask_process" in words and _parent(pid) == os.getpid()
        ]

    def kill() -> None:
        wait_for(tmp_path / "there", "starts with")
        time.sleep(2)
        for pid in couriers():
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    run = ran(toy, tmp_path / "there", 16, cluster="local:2")
    thread.join()
    assert found(run) == expected
    assert "the Dask process ended and is replaced" in events(tmp_path / "there")
    assert not couriers()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow
def test_without_certificates_a_link_that_wants_them_is_no_link(toy, tmp_path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("kind: address\naddress: tls://127.0.0.1:9\n")
    with pytest.raises(SandboxError, match="certificates"):
        ran(toy, tmp_path / "there", cluster=str(file))
