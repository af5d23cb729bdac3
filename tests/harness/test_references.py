"""Gaps to references: read from the project, left out where there are none, and held to what problems say."""

from pathlib import Path

import pytest
import yaml

from oragent import harness
from oragent._base.errors import ProblemError
from oragent.evaluation.problem import load_problem

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "problems").glob("*/references.yaml"))


def arguments(root: Path, mode: str = "val") -> harness.Arguments:
    return harness.Arguments(root, "", mode, (20, 50), root / "heuristic.py")


def write(root: Path, text: str) -> None:
    folder = root / "problems" / "toy"
    folder.mkdir(parents=True)
    (folder / "references.yaml").write_text(text)


@pytest.mark.parametrize(("direction", "expected"), [("minimize", 25.0), ("maximize", -25.0)])
def test_a_gap_says_by_how_much_the_mean_is_worse(tmp_path: Path, direction: str, expected: float) -> None:
    write(tmp_path, f"direction: {direction}\nsets: {{val: {{20: {{mean: 4.0}}}}, test: {{20: {{mean: 1.0}}}}}}")
    values = {20: [4.0, 6.0], 50: [1.0]}
    assert harness.gaps(arguments(tmp_path), "toy", values) == {"gap_percent_20": expected}
    assert harness.gaps(arguments(tmp_path, "train"), "toy", values) == {}


def test_without_a_file_there_is_no_gap(tmp_path: Path) -> None:
    assert harness.gaps(arguments(tmp_path), "toy", {20: [1.0]}) == {}


@pytest.mark.parametrize(
    "text",
    ["", "direction: [", "direction: sideways\nsets: {}", "direction: minimize", "direction: minimize\nsets: {val: 3}"],
)
def test_a_broken_file_gets_one_line_that_names_it(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ProblemError, match="references") as caught:
        harness.gaps(arguments(tmp_path), "toy", {20: [1.0]})
    assert "\n" not in str(caught.value)


def test_a_file_beyond_the_bounds_of_yaml_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "direction: minimize\nsets: {val: {20: {mean: 1.0}}}\nnotes: " + "[" * 150 + "]" * 150)
    with pytest.raises(ProblemError, match="nested"):
        harness.gaps(arguments(tmp_path), "toy", {20: [1.0]})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_shipped_references_say_where_they_come_from_and_fit_their_problem(path: Path) -> None:
    told, about = yaml.safe_load(path.read_text()), load_problem(path.parent).about
    assert told["kind"] in ("best known", "lower bound", "upper bound")
    assert told["solver"]
    assert told["date"]
    assert told["direction"] == about.direction
    assert {"train", "val"} <= set(told["sets"]) <= {*about.sizes, *about.named_sets}
    for mode, sizes in told["sets"].items():
        assert mode in about.named_sets or set(sizes) <= set(about.sizes[mode])
        assert all(one["mean"] > 0 and 0 <= one["proven"] <= one["instances"] for one in sizes.values())
