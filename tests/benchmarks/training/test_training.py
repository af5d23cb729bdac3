"""Training is a function of its seed, goes on where it was, learns, and ends in a file that evaluators load."""

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from oragent._base.errors import ConfigError, StoreError
from oragent.solvers.neural.weights import load
from oragent_benchmarks.training import curve, labels, state, tasks, trainer
from oragent_benchmarks.training.request import PROBLEMS, TrainRequest
from oragent_benchmarks.training.state import Schedule


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Few and tiny instances, labelled by a greedy rule: no outside solver is needed."""
    monkeypatch.setattr(labels, "BLOCK", 8)
    monkeypatch.setattr(tasks, "TSP_LABELS", {6: 32, 50: 32})
    monkeypatch.setattr(tasks, "CVRP_LABELS", {6: 32})
    monkeypatch.setattr(tasks, "STAGES", ((0, (5, 7)),))
    monkeypatch.setattr(tasks, "STARTS", 4)
    monkeypatch.setattr(tasks, "PIECE_TOKENS", 128)
    monkeypatch.setattr(tasks, "WALK_STEPS", 400)
    monkeypatch.setattr(trainer, "MEASURED", {6: 8})
    monkeypatch.setattr(curve, "SIZES", (6,))
    monkeypatch.setattr(curve, "INSTANCES", {"tsp": 8, "cvrp": 8})
    monkeypatch.setattr(labels, "_tsp_block", greedy_tours)
    monkeypatch.setattr(labels, "_cvrp_block", greedy_routes)
    monkeypatch.setattr(labels, "CORES", 1)  # no other process has these
    # Most of the time of a step; one is enough for matrices of tests.
    monkeypatch.setattr(torch.optim, "Muon", partial(torch.optim.Muon, ns_steps=1))


def greedy_tours(size: int, seed: list[int]) -> labels.TrainingLabels:
    rng = np.random.default_rng(seed)
    coordinates = rng.random((8, size, 2), dtype=np.float32)
    tours = []
    for points in coordinates:
        tour = [0]
        while len(tour) < size:
            left = [city for city in range(size) if city not in tour]
            tour.append(min(left, key=lambda city: float(((points[city] - points[tour[-1]]) ** 2).sum())))
        tours.append(tour)
    return labels.TrainingLabels(coordinates, np.empty((8, 0), np.float32), np.array(tours, np.int16))


def greedy_routes(size: int, seed: list[int], careful: bool) -> labels.TrainingLabels:
    rng = np.random.default_rng(seed)
    coordinates = rng.random((8, size + 1, 2), dtype=np.float32)
    demands = np.pad(np.full((8, size), 0.3, np.float32), ((0, 0), (1, 0)))
    steps = np.array([[[customer, (customer - 1) % 3 == 0] for customer in range(1, size + 1)]] * 8, np.int16)
    return labels.TrainingLabels(coordinates, demands, steps)


def order(problem: str, folder: Path, **asked: object) -> TrainRequest:
    return TrainRequest(problem, folder / problem, folder / "labels", device="cpu", **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "problem", [pytest.param(name, marks=() if name == "tsp_pomo" else pytest.mark.slow) for name in PROBLEMS]
)
def test_a_resumed_training_equals_an_uninterrupted_one(problem: str, tmp_path: Path) -> None:
    whole = trainer.train(order(problem, tmp_path / "whole", steps=4))
    trainer.train(order(problem, tmp_path / "parts", steps=2))
    resumed = trainer.train(order(problem, tmp_path / "parts", steps=4))
    assert resumed.step == whole.step == 4
    for kind in ("weights", "average"):
        ours, theirs = getattr(whole, kind), getattr(resumed, kind)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    first, second = (trainer.train(order("tsp_pomo", tmp_path / str(seed), steps=1, seed=seed)) for seed in (0, 1))
    assert not torch.equal(first.weights["decoder.Wk.weight"], second.weights["decoder.Wk.weight"])


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["tsp_lehd", "cvrp_lehd"])
def test_a_few_steps_of_imitation_lower_the_loss(problem: str, tmp_path: Path) -> None:
    asked = order(problem, tmp_path, steps=15)
    trained = trainer.train(asked)
    task, context = tasks.make_task(problem, asked.labels), tasks.StepContext(torch.device("cpu"), precise=True)

    def loss() -> float:
        return float(sum(part.detach() for part in task.losses(np.random.default_rng(99), 0, context)))

    torch.manual_seed(0)
    before = loss()
    task.model.load_state_dict(trained.weights)
    assert loss() < before


@pytest.mark.slow
def test_a_few_steps_of_reinforcement_shorten_the_tours(tmp_path: Path) -> None:
    asked = order("tsp_pomo", tmp_path, steps=15)
    torch.manual_seed(0)
    model = tasks.make_task("tsp_pomo", asked.labels).model
    stick = curve.yardstick(asked.labels, "tsp_pomo", 6, 8)
    before = stick.gap(model)
    model.load_state_dict(trainer.train(asked).weights)
    assert stick.gap(model) < before


@pytest.mark.slow
def test_imitation_begins_a_pomo_training_and_is_kept_when_it_resumes(tmp_path: Path) -> None:
    trainer.train(order("tsp_pomo", tmp_path, steps=1, imitate=2))
    assert trainer.train(order("tsp_pomo", tmp_path, steps=3)).imitate == 2
    with pytest.raises(ConfigError, match="tsp_pomo"):
        order("cvrp_pomo", tmp_path, imitate=2)


def test_the_rate_warms_up_stays_and_decays_only_on_request() -> None:
    steady = Schedule(200)
    assert steady.share(0) == pytest.approx(1 / 200)
    assert steady.share(10**6) == 1
    assert not steady.ended(10**6)
    ending = Schedule(200, decay_from=1000, decay_steps=100)
    assert ending.share(999) == 1
    assert ending.share(1050) == pytest.approx(0.5)
    assert ending.share(1100) == pytest.approx(0)
    assert ending.ended(1100)


@pytest.mark.slow
def test_a_decay_ends_the_training(tmp_path: Path) -> None:
    trainer.train(order("tsp_pomo", tmp_path, steps=2))
    ended = trainer.train(order("tsp_pomo", tmp_path, decay=3))
    assert ended.step == 5
    assert ended.schedule.ended(5)
    assert trainer.train(order("tsp_pomo", tmp_path)).step == 5


@pytest.mark.slow
def test_more_steps_after_the_end_go_on_from_before_the_decay(tmp_path: Path) -> None:
    whole = trainer.train(order("tsp_pomo", tmp_path / "whole", steps=6))
    trainer.train(order("tsp_pomo", tmp_path, steps=2))
    trainer.train(order("tsp_pomo", tmp_path, decay=3))
    assert trainer.train(order("tsp_pomo", tmp_path, decay=3, minutes=1)).step == 5  # that decay is done
    longer = trainer.train(order("tsp_pomo", tmp_path, steps=6))
    assert longer.schedule.decay_from is None
    assert all(torch.equal(longer.weights[name], value) for name, value in whole.weights.items())
    assert [one["step"] for one in curve.read(tmp_path / "tsp_pomo")] == [2, 6]


@pytest.mark.parametrize("problem", ["cvrp_pomo", pytest.param("tsp_lehd", marks=pytest.mark.slow)])
def test_an_exported_training_is_loaded_by_evaluators_and_described(problem: str, tmp_path: Path) -> None:
    asked = order(problem, tmp_path, steps=2)
    trained = trainer.train(asked)
    curve.export(asked, tmp_path)
    weights = load(problem, tmp_path, torch.device("cpu"))
    assert weights.source == f"own (checkpoints/{problem}.safetensors)"
    for name, value in weights.model.state_dict().items():
        assert torch.allclose(value, trained.average[name], rtol=1e-3, atol=1e-6)
    about = yaml.safe_load((tmp_path / "checkpoints" / "manifest.yaml").read_text())[problem]
    content = (tmp_path / "checkpoints" / about["file"]).read_bytes()
    assert about["sha256"] == hashlib.sha256(content).hexdigest()
    assert (about["steps"], about["seed"], list(about["gap"])) == (2, 0, [6])
    assert (asked.folder / "curve.png").is_file()


@pytest.mark.slow
def test_a_killed_training_leaves_the_state_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = order("tsp_pomo", tmp_path, steps=1)
    trainer.train(asked)
    before = (asked.folder / state.FILE).read_bytes()

    def killed(content: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(order("tsp_pomo", tmp_path, steps=2))
    assert (asked.folder / state.FILE).read_bytes() == before


def test_a_state_that_is_none_and_a_folder_of_another_training_are_clear_lines(tmp_path: Path) -> None:
    asked = order("tsp_pomo", tmp_path, steps=1)
    asked.folder.mkdir()
    (asked.folder / state.FILE).write_bytes(b"rubbish")
    with pytest.raises(StoreError):
        trainer.train(asked)
    (asked.folder / state.FILE).unlink()
    trainer.train(asked)
    with pytest.raises(ConfigError, match="cvrp_pomo"):
        trainer.train(TrainRequest("cvrp_pomo", asked.folder, asked.labels, device="cpu"))
    with pytest.raises(ConfigError):
        trainer.train(TrainRequest("tsp_pomo", asked.folder / state.FILE, asked.labels, device="cpu"))
    with pytest.raises(StoreError, match="tsp_lehd"):
        curve.export(order("tsp_lehd", tmp_path), tmp_path)


def test_records_that_a_killed_process_left_behind_are_dropped_from_the_curve(tmp_path: Path) -> None:
    for step in (10, 20, 15):
        curve.add(tmp_path, {"step": step, "cpu_hours": step / 10, "gap_6": 0.1})
    assert [one["step"] for one in curve.read(tmp_path)] == [10, 15]
    assert all(json.loads(line) for line in (tmp_path / curve.FILE).read_text().splitlines())
