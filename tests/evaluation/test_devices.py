"""What a run computes on is chosen once, said aloud, and kept to."""

import socket
import threading
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import yaml

from oragent._base.errors import ConfigError, OragentError
from oragent.cli.machine import _describe_devices
from oragent.evaluation import EvaluationRunner, devices, required_packages
from oragent.evaluation.capabilities import DEVICE, evaluator_arguments
from oragent.evaluation.devices import Card, DeviceReport, PinnedDevice, find_devices, pin_device, require_device
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.evaluation.runner import IDLE_S
from oragent.sandbox.messages import CommandResult, EndReason
from oragent.search.config import build_config
from oragent.search.folder import make_folder, reopen

PROBLEMS = Path(__file__).parents[2] / "problems"
NEURAL, PLAIN = load_problem(PROBLEMS / "tsp_pomo"), load_problem(PROBLEMS / "bpp_online")
TWO = DeviceReport(
    "2.9", "12.8", ("/dev/nvidiactl",), "NVRM 570", (Card("cuda:0", "A", 81920, True), Card("cuda:1", "B", 8, False))
)
NONE = DeviceReport("2.9+cpu")
BLIND = DeviceReport("2.9", "12.8", ("/dev/nvidiactl",))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[DeviceReport]:
    """What the machine has; tests replace the one entry."""
    now = [NONE]
    monkeypatch.setattr(devices, "find_devices", lambda: now[0])
    monkeypatch.setattr(
        required_packages, "find_spec", lambda name: ModuleSpec(name, None)
    )  # PyTorch is not imported here
    return now


def test_auto_takes_the_first_gpu_and_says_so_and_nothing_is_silent_without_one(machine: list[DeviceReport]) -> None:
    machine[0] = TWO
    assert pin_device("auto", NEURAL) == PinnedDevice("cuda:0", "A", "networks compute on cuda:0, A")
    machine[0] = NONE
    assert pin_device("auto", NEURAL).remark == "networks compute on the CPU: this machine has no GPU (PyTorch 2.9+cpu)"
    assert not pin_device("auto", NEURAL).careful
    machine[0] = BLIND
    assert pin_device("auto", NEURAL).careful
    assert "finds no GPU" in pin_device("auto", NEURAL).remark


def test_who_names_a_device_gets_that_or_one_line(machine: list[DeviceReport]) -> None:
    machine[0] = TWO
    assert [pin_device(asked, NEURAL).device for asked in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(ConfigError, match="cuda:2"):
        pin_device("cuda:2", NEURAL)
    with pytest.raises(ConfigError, match="gpu"):
        pin_device("gpu", NEURAL)
    machine[0] = NONE
    with pytest.raises(ConfigError, match="--device cpu"):
        pin_device("cuda", NEURAL)


def test_a_problem_without_networks_has_no_use_for_a_device_and_says_so(machine: list[DeviceReport]) -> None:
    machine[0] = TWO
    assert pin_device("auto", PLAIN) == PinnedDevice("cpu")
    told = "bpp_online computes without PyTorch: --device cuda has no effect, it runs on the processors"
    assert pin_device("cuda", PLAIN) == PinnedDevice("cpu", remark=told)


def test_a_run_is_pinned_and_no_resume_moves_it(machine: list[DeviceReport], tmp_path: Path) -> None:
    machine[0] = TWO
    run = make_folder(PROBLEMS.parent, tmp_path, NEURAL, build_config({}, ["device=cuda"], "test"))
    assert yaml.safe_load((run.path / "config.yaml").read_text())["config"]["device"] == "cuda:0"
    assert reopen(run.path, ["device=cuda"]).config.device == "cuda:0"  # the same one
    with pytest.raises(ConfigError, match="pinned"):
        reopen(run.path, ["device=cpu"])
    require_device("cuda:0", "A", NEURAL)
    with pytest.raises(ConfigError):
        require_device("cuda:0", "B", NEURAL)
    machine[0] = NONE
    with pytest.raises(ConfigError, match="cuda:0"):
        require_device("cuda:0", "A", NEURAL)
    require_device("cpu", "", NEURAL)


@pytest.mark.parametrize("wrong", ["gpu", "cuda:", "cuda:x", "cpu\n", "CUDA"])
def test_settings_name_no_other_devices(wrong: str) -> None:
    with pytest.raises(OragentError):
        build_config({"device": wrong}, [], "test")


def test_only_an_evaluator_that_offers_it_is_told(machine: list[DeviceReport]) -> None:
    assert evaluator_arguments(NEURAL, LimitSettings(), frozenset([DEVICE]), device="cuda:1") == ("--device=cuda:1",)
    assert evaluator_arguments(NEURAL, LimitSettings(), frozenset(), device="cuda:1") == ()


def test_doctor_tells_what_it_found() -> None:
    assert _describe_devices(TWO) == [
        "driver: NVRM 570",
        "PyTorch 2.9, built for 12.8",
        "--device cuda:0: A, 81,920 MiB, bfloat16",
        "--device cuda:1: B, 8 MiB, no bfloat16",
        "networks compute on cuda:0",
    ]
    assert _describe_devices(NONE) == ["networks compute on the CPU: this machine has no GPU (PyTorch 2.9+cpu)"]


def test_pytorch_is_asked_in_a_process_of_its_own_and_may_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sign = tmp_path / "card"
    sign.touch()
    monkeypatch.setattr(devices, "SIGNS", (str(sign),))
    monkeypatch.setattr(devices, "version", lambda name: "2.9")
    monkeypatch.setattr(devices, "QUESTION", 'print(\'{"build": "", "cards": [["cuda:0", "A", 9, true]]}\')')
    find_devices.cache_clear()
    assert find_devices().cards == (Card("cuda:0", "A", 9, True),)
    monkeypatch.setattr(devices, "QUESTION", "raise SystemExit(3)")
    find_devices.cache_clear()
    assert find_devices().why_not == "PyTorch 2.9 could not be queried: CalledProcessError"
    find_devices.cache_clear()


class Mortal:
    """Stands in for the process that owns a device, and dies under the first evaluations."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.lines, self.closed = deaths, 0, 0
        self.again = threading.Lock()

    def open_line(self, seconds: float) -> tuple[socket.socket, int]:
        self.lines += 1
        ours, theirs = socket.socketpair()
        theirs.close()
        return ours, self.lines

    def is_in_life(self, life: int) -> bool:
        return life > self.deaths

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(("deaths", "runs"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_an_evaluation_under_which_the_device_dies_is_run_again_at_most_twice(
    deaths: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = NEURAL.make_job(
        NEURAL.seed, PROBLEMS.parent, NEURAL.make_limits(LimitSettings()), "train", None, ("--device=cuda:0",)
    )
    scorer = Mortal(deaths)
    idle: list[float] = []
    with EvaluationRunner() as run:
        monkeypatch.setattr(run, "_find_scorer", lambda job: scorer)
        ended = CommandResult(EndReason.EXITED, 1, cpu_s=1.0)
        monkeypatch.setattr(
            run, "_run_in_sandbox", lambda job, command, device_line: idle.append(command.limits.idle_s) or ended
        )
        run(job)
        assert (scorer.lines, scorer.closed) == (runs, 0)
        assert set(idle) == {IDLE_S}  # who waits for a device may sleep
        slept = CommandResult(EndReason.DEADLINE, -9, cpu_s=1.0, reason="it slept")
        monkeypatch.setattr(run, "_run_in_sandbox", lambda job, command, device_line: slept)
        run(job)
        assert scorer.closed == 1  # one that answers nobody is started anew


def test_only_jobs_that_are_told_a_gpu_and_keep_their_candidate_in_a_guest_get_a_line(tmp_path: Path) -> None:
    limits = NEURAL.make_limits(LimitSettings())

    def given(*arguments: str, apart: bool = False) -> bool:
        with EvaluationRunner(apart=apart) as run:
            return (
                run._find_scorer(NEURAL.make_job(NEURAL.seed, PROBLEMS.parent, limits, arguments=arguments)) is not None
            )

    assert given("--device=cuda:0")
    assert not given()
    assert not given("--device=cpu")
    assert given("--device=cpu", apart=True)
    plain = tmp_path / "eval.py"
    plain.write_text("print('no harness')\n")
    job = replace(
        NEURAL.make_job(NEURAL.seed, PROBLEMS.parent, limits, arguments=("--device=cuda:0",)), evaluator=plain
    )
    with EvaluationRunner() as run:
        assert run._find_scorer(job) is None
