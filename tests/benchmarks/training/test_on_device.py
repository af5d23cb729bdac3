"""What training does on a GPU, on processors: drawn there, moved together, counted."""

import copy
import importlib
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch

from oragent._base.errors import ConfigError
from oragent_benchmarks.training import labels, tasks, trainer
from oragent_benchmarks.training.request import TrainRequest
from oragent_benchmarks.training.tasks import DeviceTours, instances, starts_of, turned
from oragent_benchmarks.training.trainer import Optimiser, Rates


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_matrices_moved_in_batches_go_where_pytorch_moves_each_alone() -> None:
    torch.manual_seed(0)
    alone = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in ((128, 256), (256, 128), (128, 256), (128, 4)))
    together = copy.deepcopy(alone)
    optimisers = [
        Optimiser(net, Rates(1, 1e-3, matrices=1e-2), together=one) for net, one in ((alone, False), (together, True))
    ]
    for step in range(3):
        for net, optimiser in zip((alone, together), optimisers, strict=True):
            for number, value in enumerate(net.parameters()):
                value.grad = torch.randn(value.shape, generator=generator(10 * step + number))
            optimiser.step(1.0)
        if step == 1:  # a state of the one is one of the other
            optimisers[1].load_state_dict(copy.deepcopy(optimisers[0].state_dict()))
    for first, second in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.allclose(first, second, atol=2e-4)
        assert not torch.equal(first, torch.zeros_like(first))


def test_instances_drawn_on_a_device_are_those_that_numpy_draws_but_for_the_numbers() -> None:
    points, shares = instances(generator(), 4000, 20, tsp=False)
    assert points.shape == (4000, 21, 2)
    assert (shares[:, 0] == 0).all()
    usual = (shares * 30 - (shares * 30).round()).abs().amax(1) < 1e-5
    assert 0.74 < float(usual.double().mean()) < 0.78  # a quarter has another capacity, some of those the same
    whole = (shares[usual][:, 1:] * 30).round()
    assert (whole.min(), whole.max()) == (1, 9) or float(whole.max()) <= 9
    assert float(points.mean()) == pytest.approx(0.5, abs=0.01)
    starts = starts_of(generator(), 50, 9, 12)
    assert starts.sort(1).values.tolist() == [list(range(9))] * 50


def test_pieces_cut_on_a_device_go_along_the_tours_turned_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    tours = np.array([rng.permutation(9) for _ in range(5)], np.int16)
    made = labels.TrainingLabels(rng.random((5, 9, 2), dtype=np.float32), np.empty((5, 0), np.float32), tours)
    steps = np.linalg.norm(
        np.diff(np.take_along_axis(made.coordinates, tours[..., None].astype(int), 1), axis=1, append=0), axis=2
    )
    known = {round(float(step), 4) for tour in steps for step in tour[:-1]}
    ring = {round(float(np.linalg.norm(p[t[0]] - p[t[-1]])), 4) for p, t in zip(made.coordinates, tours, strict=True)}
    pieces = DeviceTours(made, torch.device("cpu")).cut(generator(), 64, 4)
    assert pieces.shape == (64, 6, 2)
    found = {round(float(step), 4) for step in pieces.diff(dim=1).norm(dim=2).flatten()}
    assert all(min(abs(step - one) for one in known | ring) < 2e-4 for step in found)


def test_symmetries_keep_distances_and_all_eight_are_drawn() -> None:
    points = torch.tensor([[[0.1, 0.3], [0.6, 0.8]]]).repeat(200, 1, 1)
    found = turned(generator(), points)
    assert torch.allclose(torch.cdist(found, found), torch.cdist(points, points), atol=1e-6)
    assert len({tuple(one.round(decimals=3).flatten().tolist()) for one in found}) == 8


@pytest.mark.parametrize("problem", ["tsp_pomo", "cvrp_pomo"])
def test_a_step_drawn_on_a_device_is_repeated_and_larger_by_its_factor(
    problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tasks, "DRAWN_BY_NUMPY", set())
    monkeypatch.setattr(tasks, "STAGES", ((0, (5, 7)),))
    monkeypatch.setattr(tasks, "STARTS", 4)
    monkeypatch.setattr(tasks, "WALK_STEPS", 400)
    torch.manual_seed(0)
    task, seen = tasks.make_task(problem, tmp_path), []
    own = task.model.encode
    monkeypatch.setattr(task.model, "encode", lambda *given: seen.append(len(given[0])) or own(*given))
    values = []
    for batch in (1, 1, 2):
        context = tasks.StepContext(torch.device("cpu"), precise=True, batch=batch)
        values += [float(part.detach()) for part in task.losses(np.random.default_rng(3), 0, context)]
    assert values[0] == values[1] != values[2]
    assert seen == [16, 16, 32]


def test_a_device_that_is_not_there_and_another_batch_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert trainer._available("auto") == "cpu"
    assert "CPU" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="--device cpu"):
        trainer._available("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [trainer._available(one) for one in ("auto", "cuda", "cuda:1", "cpu")] == [
        "cuda:0",
        "cuda:0",
        "cuda:1",
        "cpu",
    ]
    with pytest.raises(ConfigError, match="cuda:0"):
        trainer._available("cuda:2")
    with pytest.raises(ConfigError, match="--batch"):
        TrainRequest("tsp_pomo", Path(), Path(), batch=0)
    with pytest.raises(ConfigError, match="gpu"):
        TrainRequest("tsp_pomo", Path(), Path(), device="gpu")


@pytest.mark.slow
def test_labels_made_by_several_processes_are_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    import numpy as np
    from oragent_benchmarks.training.labels import TrainingLabels
    def make(seed):
        rng = np.random.default_rng(seed)
        return TrainingLabels(rng.random((2, 5, 2), dtype=np.float32), np.empty((2, 0), np.float32), np.zeros((2, 5), np.int16))
    """
    (tmp_path / "labelling.py").write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    make = importlib.import_module("labelling").make
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(labels, "CORES", cores)
        monkeypatch.setattr(labels, "BLOCK", 2)
        found.append(labels._labels(tmp_path / str(cores), "x", 6, [7], lambda: make))
    assert np.array_equal(found[0].coordinates, found[1].coordinates)
    assert len(found[1]) == 6
