"""What comes back from a candidate is checked before a network sees it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from oragent.harness import Guest
from oragent._base.distribution import CPU_BUILD, extra_install_command
from oragent._base.errors import CandidateError
from oragent._base.protocol import Failure, Status, parse
from oragent.harness.neural import bias
from oragent.harness.wire_format import HEAD, FrameError, decode, encode
from oragent.solvers.attention_bias.scoring import ROUTES, TOURS, NetworkTask, reach, strength

ROOT = Path(__file__).parents[3]


def travel(value: object) -> object:
    frame = encode(value)
    header, _ = HEAD.unpack_from(frame)
    return decode(frame[HEAD.size :][:header], frame[HEAD.size :][header:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.bool])
def test_tensors_arrive_as_tensors(dtype: torch.dtype) -> None:
    sent = torch.tensor([[1, 0], [3, 4]]).to(dtype).T
    arrived = travel({"a": (sent,)})["a"][0]
    assert isinstance(arrived, torch.Tensor)
    assert arrived.dtype is dtype
    assert torch.equal(arrived, sent)


def test_bfloat16_arrives_in_single_precision() -> None:
    assert torch.equal(travel(torch.tensor(1.5, dtype=torch.bfloat16)), torch.tensor(1.5))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (torch.zeros(2, requires_grad=True), "requires grad; return it detached"),
        (torch.zeros(2, device="meta"), "on device meta; return it on the CPU"),
        (torch.eye(2).to_sparse(), "layout torch.sparse_coo; return a dense one"),
    ],
)
def test_a_tensor_that_cannot_travel_says_why(value: torch.Tensor, told: str) -> None:
    with pytest.raises(FrameError, match=told):
        encode(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (torch.full((3, 3), torch.nan), "nan at"),
        (torch.full((3, 3), -torch.inf), "-inf at"),
        (torch.zeros(3, 4), r"shape \(3, 4\); expected \(3, 3\)"),
        (torch.zeros(3, 3, dtype=torch.complex64), "expected real numbers"),
        (None, "NoneType"),
        ("text", "str"),
    ],
)
def test_a_bias_that_cannot_be_used_says_why(value: object, told: str) -> None:
    with pytest.raises(CandidateError, match=told):
        bias(value, 3)  # type: ignore[arg-type]


def test_a_bias_is_a_finite_float32_tensor_whatever_numbers_it_was_made_of() -> None:
    for value in (np.eye(3), torch.eye(3, dtype=torch.int32), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]):
        assert torch.equal(bias(value, 3), torch.eye(3))
    assert torch.isfinite(bias(np.full((3, 3), 1e300), 3)).all()


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ("return d.requires_grad_()", "invalid", "requires grad"),
        ("return d.to('meta')", "invalid", "device meta"),
        ("return d.cuda()", "error", "CUDA"),
        ("return d[:2]", "invalid", r"shape \(2, 5\)"),
        ("return d / 0 * 0", "invalid", "nan"),
    ],
)
def test_a_candidate_that_returns_such_a_thing_gets_a_status(tmp_path: Path, body: str, status: str, told: str) -> None:
    path = tmp_path / "heuristic.py"
    path.write_text(f"import torch\ndef heuristics(d):\n    {body}\n")
    with Guest(path, "heuristics") as guest, pytest.raises(CandidateError, match=told) as caught:
        bias(guest(torch.rand(5, 5)), 5)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("tsp_pomo", "torch"),
        ("cvrp_lehd", "safetensors"),
        *(pytest.param(name, "torch", marks=pytest.mark.slow) for name in ("cvrp_pomo", "tsp_lehd", "cvrp_lehd")),
    ],
)
def test_without_pytorch_an_evaluator_says_in_one_line_what_to_install(name: str, missing: str) -> None:
    script = ROOT / "problems" / name / "eval.py"
    code = f"import runpy, sys; sys.modules[{missing!r}] = None; runpy.run_path({str(script)!r}, run_name='__main__')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 1
    told = f"{missing} is not installed: {extra_install_command('neural')} (PyTorch for CPUs alone: first {CPU_BUILD})"
    assert parse(ended.stdout) == Failure(Status.CRASHED, told)
    assert ended.stderr == ""


def test_the_shared_part_of_neural_evaluators_is_imported_without_pytorch() -> None:
    code = "import sys; sys.modules['torch'] = None; import oragent.harness.neural; print('imported')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.stdout == "imported\n", ended.stderr


@pytest.mark.parametrize("kind", [TOURS, ROUTES])
@pytest.mark.parametrize("size", [200, 1000])
def test_distances_that_a_candidate_gets_are_exact_zeros_on_the_diagonal_and_symmetric(
    kind: NetworkTask, size: int
) -> None:
    """``torch.cdist`` of the same points leaves up to 5e-4 there, and one over that is another matrix."""
    instance = kind.stream("val", size, None)[0]
    distances = torch.tensor(instance.distances, dtype=torch.float32)
    assert (distances.diagonal() == 0).all()
    assert torch.equal(distances, distances.T)
    assert (distances + torch.eye(len(distances)) > 0).all()


def test_reach_counts_what_lies_beyond_the_nearest() -> None:
    points = torch.rand(30, 2, generator=torch.Generator().manual_seed(0))
    distances = torch.cdist(points, points)
    ranks = distances.argsort(1).argsort(1)
    assert reach(torch.zeros(30, 30), distances, 5) == 0
    assert reach((ranks <= 5).float(), distances, 5) == pytest.approx(0, abs=1e-6)
    assert reach((ranks > 24).float(), distances, 5) == pytest.approx(1, abs=1e-6)
    assert 0.3 < reach(-distances, distances, 5) < 1


def test_strength_is_relative_to_the_scores_and_blind_to_the_diagonal() -> None:
    values = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    assert strength(4 * values, 2.0) == pytest.approx(2 * strength(values, 2.0) * 2, rel=1e-6)
    assert strength(values + 99 * torch.eye(6), 1.0) == pytest.approx(strength(values, 1.0), rel=1e-5)
    assert strength(torch.ones(6, 6), 1.0) == 0
