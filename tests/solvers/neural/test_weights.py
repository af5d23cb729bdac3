"""Official checkpoints load as they are, ours load too, and anything else is one clear line."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from oragent._base import package_data
from oragent._base.errors import ProblemError
from oragent.solvers.neural.weights import NETWORKS, OFFICIAL, load, official_names

CPU = torch.device("cpu")

LAYER = {"Wq.weight": (128, 128), "Wk.weight": (128, 128), "Wv.weight": (128, 128)}
LAYER |= {"multi_head_combine.weight": (128, 128), "multi_head_combine.bias": (128,)}


def feed_forward(name: str) -> dict[str, tuple[int, ...]]:
    shapes = {"W1.weight": (512, 128), "W1.bias": (512,), "W2.weight": (128, 512), "W2.bias": (128,)}
    return {f"{name}.{part}": shape for part, shape in shapes.items()}


def linear(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def layers(place: str, count: int, forward: str, norm: str = "") -> dict[str, tuple[int, ...]]:
    parts = LAYER | feed_forward(forward)
    if norm:
        parts |= {f"{norm}{number}.norm.{part}": (128,) for number in (1, 2) for part in ("weight", "bias")}
    return {f"{place}.layers.{number}.{part}": shape for number in range(count) for part, shape in parts.items()}


def official_shapes(problem: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the published files, written out."""
    if problem == "tsp_pomo":
        decoder = {f"decoder.{part}.weight": (128, 128) for part in ("Wq_first", "Wq_last", "Wk", "Wv")}
        shapes = linear("encoder.embedding", 128, 2) | layers("encoder", 6, "feedForward", "addAndNormalization")
        return shapes | decoder | linear("decoder.multi_head_combine", 128, 128)
    if problem == "cvrp_pomo":
        decoder = {f"decoder.{part}.weight": (128, 128) for part in ("Wk", "Wv")} | {
            "decoder.Wq_last.weight": (128, 129)
        }
        shapes = linear("encoder.embedding_depot", 128, 2) | linear("encoder.embedding_node", 128, 3)
        shapes |= layers("encoder", 6, "feed_forward", "add_n_normalization_")
        return shapes | decoder | linear("decoder.multi_head_combine", 128, 128)
    extra = problem == "cvrp_lehd"
    shapes = linear("encoder.embedding", 128, 2 + extra) | layers("encoder", 1, "feedForward")
    for place in ("first", "last"):
        shapes |= linear(f"decoder.embedding_{place}_node", 128, 128 + extra)
    shapes |= layers("decoder", 6, "feedForward") | linear("decoder.Linear_final", 1 + extra, 128)
    return shapes if extra else shapes | linear("decoder.k_1", 128, 128)


def checkpoint(problem: str) -> dict[str, object]:
    """What an official file holds besides weights, too."""
    torch.manual_seed(0)
    state = {name: torch.randn(shape) for name, shape in official_shapes(problem).items()}
    log = {"train_score": [[1, 3.9]], "train_loss": [[1, -0.2]]}
    return {"epoch": 3100, "model_state_dict": state, "optimizer_state_dict": {"state": {}}, "result_log": log}


@pytest.mark.parametrize("place", ["problems/{}/checkpoints", "checkpoints/{}"])
@pytest.mark.parametrize("problem", OFFICIAL)
def test_an_official_file_loads_from_either_place(problem: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / place.format(problem) / OFFICIAL[problem]
    path.parent.mkdir(parents=True)
    content = checkpoint(problem)
    torch.save(content, path)
    weights = load(problem, tmp_path, CPU)
    assert weights.source == f"official ({path.relative_to(tmp_path)})"
    loaded = official_names(problem, weights.model.state_dict())
    state = content["model_state_dict"]
    assert loaded.keys() == state.keys()  # type: ignore[attr-defined]
    assert all(torch.equal(loaded[name], value) for name, value in state.items())  # type: ignore[attr-defined]


@pytest.mark.parametrize("problem", OFFICIAL)
def test_our_own_file_loads_where_there_is_no_official_one_and_comes_second_where_there_is(
    problem: str, tmp_path: Path
) -> None:
    own = tmp_path / "checkpoints" / f"{problem}.safetensors"
    own.parent.mkdir()
    halves = {name: value.half() for name, value in checkpoint(problem)["model_state_dict"].items()}  # type: ignore[attr-defined]
    save_file(halves, own)
    weights = load(problem, tmp_path, CPU)
    assert weights.source == f"own (checkpoints/{problem}.safetensors)"
    assert all(value.dtype is torch.float32 for value in weights.model.parameters())
    official = tmp_path / "checkpoints" / problem / OFFICIAL[problem]
    official.parent.mkdir()
    torch.save(checkpoint(problem), official)
    assert load(problem, tmp_path, CPU).source.startswith("official")


def test_without_any_file_the_message_names_the_places_and_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_data, "shipped_root", lambda: tmp_path / "nothing")
    with pytest.raises(ProblemError, match="checkpoint-150"):
        load("tsp_lehd", tmp_path, CPU)


@pytest.mark.parametrize("keep", [0, 10, 5000, -50])
@pytest.mark.parametrize("own", [True, False])
def test_a_truncated_file_is_one_clear_line(keep: int, own: bool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / ("cvrp_lehd.safetensors" if own else f"cvrp_lehd/{OFFICIAL['cvrp_lehd']}")
    path.parent.mkdir(parents=True)
    if own:
        save_file(checkpoint("cvrp_lehd")["model_state_dict"], path)  # type: ignore[arg-type]
    else:
        torch.save(checkpoint("cvrp_lehd"), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ProblemError) as caught:
        load("cvrp_lehd", tmp_path, CPU)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"hello", b"\x80\x02]", b"PK\x03\x04rubbish"])
def test_a_foreign_file_is_one_clear_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "tsp_pomo" / OFFICIAL["tsp_pomo"]
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(ProblemError):
        load("tsp_pomo", tmp_path, CPU)


class Harmful:
    """Would create a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def test_code_in_a_checkpoint_is_never_run(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "tsp_pomo" / OFFICIAL["tsp_pomo"]
    path.parent.mkdir(parents=True)
    torch.save({"model_state_dict": {}, "extra": Harmful(tmp_path / "harmed")}, path)
    with pytest.raises(ProblemError):
        load("tsp_pomo", tmp_path, CPU)
    assert not (tmp_path / "harmed").exists()


def test_a_file_for_another_network_lists_the_first_differences(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "tsp_pomo" / OFFICIAL["tsp_pomo"]
    path.parent.mkdir(parents=True)
    state = NETWORKS["tsp_pomo"]().state_dict()
    state["encoder.embedding.weight"] = torch.zeros(128, 3)
    state["decoder.extra.weight"] = state.pop("decoder.Wk.weight")
    torch.save({"model_state_dict": state}, path)
    with pytest.raises(ProblemError) as caught:
        load("tsp_pomo", tmp_path, CPU)
    told = str(caught.value)
    assert "decoder.Wk.weight is missing" in told
    assert "decoder.extra.weight is not known" in told
    assert "encoder.embedding.weight has shape (128, 3), not (128, 2)" in told
