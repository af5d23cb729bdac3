"""Networks in a process beside the evaluations: the same scores, the same bounds, nothing but numbers across the line."""

import contextlib
import os
import re
import socket
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'neural'")
pytest.importorskip("safetensors", reason="needs the extra 'neural'")

import torch

from oragent._base.errors import SandboxError
from oragent._base.protocol import Status
from oragent.evaluation import EvaluationRunner, Job
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.evaluation.runner import DeviceScorer
from oragent.harness.wire_format import HEAD, decode, encode
from oragent.solvers.attention_bias import serving
from oragent.solvers.attention_bias.serving import MAX_BYTES, Refused, frame_bytes, read

ROOT = Path(__file__).parents[2]
NEURAL = load_problem(ROOT / "problems" / "tsp_pomo")
SEES = """
import os, torch
def heuristics(distance_matrix):
    seen = sorted(k for k in os.environ if "LINE" in k)
    for descriptor in range(3, 40):
        try:
            os.fstat(descriptor)
            seen.append(descriptor)
        except OSError:
            pass
    raise ValueError(f"saw {seen}, {os.environ.get('CUDA_VISIBLE_DEVICES')}")
"""


def asked(count: int = 2, size: int = 8, **other: object) -> dict[str, object]:
    rng = np.random.default_rng(0)
    words: dict[str, object] = {
        "network": "tsp_pomo", "points": rng.random((count, size, 2), dtype=np.float32), "demands": None,
        "bias": rng.random((count, size, size), dtype=np.float32), "starts": 1, "augment": False, "bfloat16": False,
        "rebuilds": 0,
    }  # fmt: skip
    return words | other


def answer(wire: socket.socket, timeout: float = 60.0) -> dict[str, object] | None:
    """What comes back; None where the line is closed."""
    wire.settimeout(timeout)
    taken = bytearray()
    while len(taken) < HEAD.size or len(taken) < HEAD.size + sum(HEAD.unpack_from(taken)):
        try:
            part = wire.recv(1 << 16)
        except ConnectionResetError:
            return None
        if not part:
            return None
        taken += part
    header, _ = HEAD.unpack_from(taken)
    return decode(bytes(taken[HEAD.size :][:header]), bytes(taken[HEAD.size + header :]))


@pytest.fixture(scope="module")
def scorer():
    made = DeviceScorer("cpu", ROOT, 2048)
    yield made
    made.close()


def job(source: str) -> Job:
    return NEURAL.make_job(source, ROOT, NEURAL.make_limits(LimitSettings()), "train", None, ("--device=cpu",))


@pytest.mark.slow
def test_a_candidate_finds_no_line_in_its_process() -> None:
    with EvaluationRunner(apart=True) as there:
        blind = there(job(SEES))
    assert re.search(r"saw \[\d*\], None", blind.message), blind.message  # its own wire to its evaluation, at most


@pytest.mark.slow
def test_an_evaluation_scores_alike_with_its_network_here_and_there() -> None:
    with EvaluationRunner() as here, EvaluationRunner(apart=True) as there:
        first, second = here(job(NEURAL.seed)), there(job(NEURAL.seed))
        assert (first.status, second.status) == (Status.OK, Status.OK), (first.message, second.message)
        same = ("score", "features")
        assert [getattr(first, name) for name in same] == [getattr(second, name) for name in same]
        assert second.metrics["device_seconds"] > 0
        assert "device_seconds" not in first.metrics
        assert first.metrics["weights"] == second.metrics["weights"]


def test_who_asks_for_more_than_its_time_is_told_so_and_others_go_on(scorer: DeviceScorer) -> None:
    (short, life), (other, _) = scorer.open_line(0.02), scorer.open_line(60.0)
    with short, other:
        ask_both(scorer, short, other, life)


def ask_both(scorer: DeviceScorer, short: socket.socket, other: socket.socket, life: int) -> None:
    short.sendall(encode(asked(size=100, count=8)))
    other.sendall(encode(asked()))
    told = answer(short)
    assert told is not None
    assert told["trouble"][0] == Status.TIMEOUT
    found = answer(other)
    assert found is not None
    assert sorted(found["paths"][0].tolist()) == list(range(8))
    assert scorer.is_in_life(life)


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff" * 64,
        HEAD.pack(10, MAX_BYTES + 1),
        HEAD.pack(2, 0) + b"[]",
        HEAD.pack(6, 0) + b"[[" + b"[" * 4,
        encode(asked()) * 2,
        encode(asked(network="../../x")),
        encode(asked(starts=2)),
    ],
)
def test_a_line_that_sends_anything_else_is_closed_and_the_others_live(scorer: DeviceScorer, sent: bytes) -> None:
    bad, life = scorer.open_line(60.0)
    good, _ = scorer.open_line(60.0)
    with bad, good:
        with contextlib.suppress(OSError):
            bad.sendall(sent)
        assert answer(bad) is None
        good.sendall(encode(asked()))
        assert answer(good) is not None
    assert scorer.is_in_life(life)


def test_one_that_reads_nothing_or_sends_half_a_request_holds_nobody_up(scorer: DeviceScorer) -> None:
    lines = [scorer.open_line(60.0)[0] for _ in range(3)]
    half, deaf, good = lines
    half.sendall(encode(asked())[:100])
    deaf.sendall(encode(asked(size=20, count=40)))
    good.sendall(encode(asked()))
    assert answer(good) is not None
    for line in lines:
        line.close()
    with scorer.open_line(60.0)[0] as again:
        again.sendall(encode(asked()))
        assert answer(again) is not None


@pytest.mark.slow
def test_a_process_that_dies_is_replaced_and_its_life_is_over(scorer: DeviceScorer) -> None:
    first, life = scorer.open_line(60.0)
    assert scorer._process is not None
    os.kill(scorer._process.pid, 9)
    scorer._process.wait()
    with first:
        assert answer(first) is None
    assert not scorer.is_in_life(life)
    second, again = scorer.open_line(60.0)
    assert again == life + 1
    with second:
        second.sendall(encode(asked()))
        assert answer(second) is not None


@pytest.mark.slow
def test_a_device_that_is_not_there_is_one_line() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(SandboxError, match="cuda:0"):
        DeviceScorer("cuda:0", ROOT).open_line(1.0)


@pytest.mark.parametrize(
    "other",
    [
        {"points": np.zeros((2, 8, 2))},
        {"points": np.zeros((2, 8, 3), np.float32)},
        {"points": np.full((2, 8, 2), np.nan, np.float32)},
        {"points": np.full((2, 8, 2), 3, np.float32)},
        {"points": np.zeros((0, 8, 2), np.float32)},
        {"points": np.zeros((2, 1, 2), np.float32)},
        {"points": np.zeros((65, 8, 2), np.float32)},
        {"points": [[0.0]]},
        {"demands": np.zeros((2, 8), np.float32)},
        {"network": "cvrp_pomo"},
        {"network": "cvrp_pomo", "demands": np.full((2, 8), 2, np.float32)},
        {"network": ["tsp_pomo"]},
        {"bias": np.full((2, 8, 8), np.inf, np.float32)},
        {"bias": np.zeros((2, 8, 7), np.float32)},
        {"bias": np.full((2, 8, 8), -1.1e30, np.float32)},
        {"bias": np.zeros((2, 8, 8), np.complex64)},
        {"starts": True},
        {"starts": 1.0},
        {"augment": 1},
        {"bfloat16": None},
        {"rebuilds": 5},
        {"rebuilds": -1, "network": "tsp_lehd"},
        {"more": 1},
    ],
)
def test_a_request_that_no_evaluation_makes_is_refused(other: dict[str, object]) -> None:
    with pytest.raises(Refused):
        read(encode(asked(**other)))


def test_a_request_of_ours_is_read_and_a_beginning_says_how_long_it_is() -> None:
    frame = encode(asked())
    assert frame_bytes(frame[:3]) == 0
    assert frame_bytes(frame[:20]) == len(frame)
    found = read(frame)
    assert found.points.shape == (2, 8, 2)
    for bound in (-1e30, 1e30):  # what harness.neural.bias clips to
        assert read(encode(asked(bias=np.full((2, 8, 8), bound, np.float32)))).bias is not None
    assert found.batch_key == read(encode(asked())).batch_key


def test_evaluations_that_are_answered_together_get_what_each_gets_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SHARED", {"cpu": 3})
    requests = [
        read(encode(asked(bias=np.random.default_rng(k).normal(0, 90, (2, 8, 8)).astype(np.float32)))) for k in (1, 2)
    ]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = serving.Server(theirs, ROOT, torch.device("cpu"))
        together = server._compute_answers(requests)
        alone = [server._compute_answers([one])[0] for one in requests]
        assert len(server._instances) == 1
    assert [one["paths"].tolist() for one in together] == [one["paths"].tolist() for one in alone]
    assert together[0]["paths"].tolist() != together[1]["paths"].tolist()
