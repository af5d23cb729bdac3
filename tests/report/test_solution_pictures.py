"""Pictures of solutions: best and seed on the same instances, by the hook of any problem, checked before they are shown."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from oragent._base.protocol import Result, Status, format_result
from oragent.evaluation import Evaluation
from oragent.evaluation.problem import load_problem
from oragent.harness.drawing import draw_packing, draw_routes
from oragent.report import solution_pictures
from oragent.report.held_out import HeldOutScorer
from oragent.report.live.offline import write_report
from oragent.report.solution_pictures import FOLDER, MAX_SVG_BYTES, draw_pictures, is_plain_svg, read_pictures
from oragent.sandbox.messages import Command, CommandResult, EndReason
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder
from tests.report.runs import data_of
from tests.search.test_engine import search
from tests.sources import ROOT

PLAIN = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
EVALUATOR = """
from oragent.harness import Result, each, figures, run
from shapes import make_bar

def evaluate(arguments, guess):
    values = {1: [], 2: []}
    for size, _, target in each(guess, {size: [3, 4, 5, 6, 7] for size in values}, values):
        answer = float(guess(target))
        values[size].append(abs(answer - 1))
        guess.show(target, answer, values[size][-1])
    metrics, score = figures("miss", values)
    return Result(metrics, None, score)

def draw(target, answer):
    return make_bar(target, answer)

if __name__ == "__main__":
    run(evaluate, function="guess", sizes={"train": (1, 2), "val": (1, 2)}, draw=draw)
"""
SHAPES = """
def make_bar(target, answer):
    return f'<svg xmlns="http://www.w3.org/2000/svg"><rect width="{target}" height="{answer}"/></svg>'
"""
BETTER = "def guess(x):\n    return x * 1.0\n"


def searched(problem: Path, root: Path, best: str) -> RunFolder:
    """A run of a problem whose best program is the given one."""
    settings = ["budget.evaluations=2", "limits.timeout_s=60"]
    folder = make_folder(root, root / "outputs", load_problem(problem), build_config({}, settings, "test"))
    search(folder, run=lambda job: Evaluation(Status.OK, 1.0, features=(0,) * len(folder.problem.about.features)))
    (folder.path / "best.py").write_text(best)
    return folder


@pytest.mark.slow
def test_a_problem_of_a_user_draws_best_and_seed_on_the_same_instances(toy: Path, tmp_path: Path) -> None:
    (toy / "eval.py").write_text(EVALUATOR)
    (toy / "shapes.py").write_text(SHAPES)
    description = yaml.safe_load((toy / "problem.yaml").read_text())
    (toy / "problem.yaml").write_text(yaml.safe_dump({**description, "direction": "minimize", "features": []}))
    folder = searched(toy, tmp_path, BETTER)
    pictures = draw_pictures(folder.path, HeldOutScorer(folder))
    assert [(picture.instance, picture.program) for picture in pictures] == [
        (f"size {size} instance {index}", program)
        for size in (1, 2)
        for index in range(3)
        for program in ("best", "seed")
    ]
    assert [picture.value for picture in pictures[:2]] == [2.0, 5.0]
    assert b'height="3.0"' in pictures[0].data
    assert b'height="6.0"' in pictures[1].data
    assert read_pictures(folder.path) == pictures
    shown = data_of(write_report(folder.path).read_text())["trust"]["pictures"]
    assert shown[1]["caption"] == "size 1 instance 0, seed"
    assert {key: shown[1][key] for key in ("instance", "program", "value")} == {
        "instance": "size 1 instance 0", "program": "seed", "value": 5.0,
    }  # fmt: skip
    assert shown[1]["address"].startswith("data:image/svg+xml;base64,")


FARTHEST = """def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return max(unvisited_nodes, key=lambda node: distance_matrix[current_node, node])
"""


@pytest.mark.slow
def test_tours_of_best_and_seed_differ(tmp_path: Path) -> None:
    problem = tmp_path / "problems" / "tsp_constructive"
    shutil.copytree(ROOT / "problems/tsp_constructive", problem)
    folder = searched(problem, tmp_path, FARTHEST)
    pictures = draw_pictures(folder.path, HeldOutScorer(folder))
    assert len(pictures) == 12
    best, seed = pictures[:2]
    assert best.instance == seed.instance == "size 20 instance 0"
    assert best.data != seed.data
    assert best.value > seed.value
    assert best.data.count(b"<circle") == seed.data.count(b"<circle") == 20


class Drawing:
    """A sandbox whose evaluator leaves given files and a given metric."""

    def __init__(self, drawn: Any, **images: str) -> None:
        self.drawn, self.images = drawn, {f"{name}.svg": text.encode() for name, text in images.items()}

    def __call__(self, command: Command, root: Path) -> CommandResult:
        assert command.argv[-1] == "--draw_solutions"
        assert command.bring == ("*.svg",)
        block = format_result(Result({"drawn": self.drawn}, None, 1.0))
        return CommandResult(EndReason.EXITED, 0, stdout=block, files=self.images)


@pytest.fixture
def offering(begun: Any, monkeypatch: pytest.MonkeyPatch) -> HeldOutScorer:
    folder = begun("budget.evaluations=2")
    search(folder)
    scorer = HeldOutScorer(folder)
    monkeypatch.setitem(vars(scorer), "offers", frozenset({solution_pictures.DRAW}))
    return scorer


def test_a_hostile_picture_is_left_out(offering: HeldOutScorer) -> None:
    path, fine = offering.folder.path, PLAIN.format("<rect/>")
    drawn = {"a": 1.0, "b": 2.0, "../c": 3.0, "d": float("inf")}
    draw = Drawing(drawn, a=fine, b=PLAIN.format("<script>alert(1)</script>"), d=fine)
    assert [picture.name for picture in draw_pictures(path, offering, draw)] == ["a.best.svg", "a.seed.svg"]
    assert sorted(file.name for file in (path / FOLDER).iterdir()) == ["a.best.svg", "a.seed.svg", "pictures.yaml"]
    (path / FOLDER / "a.best.svg").write_text(PLAIN.format('<rect onclick="alert(1)"/>'))
    assert [picture.name for picture in read_pictures(path)] == ["a.seed.svg"]


@pytest.mark.parametrize("drawn", [None, 3, "a", {"a": "x"}, {"": 1.0}])
def test_a_metric_of_another_form_draws_nothing(offering: HeldOutScorer, drawn: Any) -> None:
    assert draw_pictures(offering.folder.path, offering, Drawing(drawn, a=PLAIN.format(""))) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<svg/>",
        PLAIN.format("<script/>"),
        PLAIN.format("<foreignObject/>"),
        PLAIN.format('<image href="https://example.org/x.png"/>'),
        PLAIN.format('<a href="javascript:alert(1)"/>'),
        PLAIN.format('<rect onload="alert(1)"/>'),
        PLAIN.format('<rect style="fill:red"/>'),
        PLAIN.format('<rect fill="url(https://example.org/x)"/>'),
        PLAIN.format("<style>*{}</style>"),
        PLAIN.format('<rect xmlns="http://www.w3.org/1999/xhtml"/>'),
        PLAIN.format("<g>"),
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + PLAIN.format("&a;"),
        '<?xml-stylesheet href="x"?>' + PLAIN.format(""),
        PLAIN.format(" " * MAX_SVG_BYTES),
        PLAIN.format("<g>" * 3 + "\x00" + "</g>" * 3),
    ],
)
def test_what_is_more_than_shapes_and_text_is_no_picture(text: str) -> None:
    assert not is_plain_svg(text.encode())


def test_bytes_that_are_no_text_are_no_picture() -> None:
    assert not is_plain_svg(PLAIN.format("<text>\xff</text>").encode("latin-1"))


def test_helpers_draw_plain_svg() -> None:
    routes = draw_routes([(0, 0), (1, 0), (1, 1), (0, 1)], [[0, 1], [0, 2, 3]])
    assert routes.count("<polygon") == 2
    assert routes.count("<circle") == 4
    packing = draw_packing([3, 4, 5], [0, 0, 7], 10)
    assert packing.count("M") == 3
    assert all(
        is_plain_svg(text.encode()) for text in (routes, packing, draw_routes([(2, 2)], [[0]]), draw_packing([], [], 1))
    )
    assert is_plain_svg(PLAIN.format('<g transform="rotate(-90 1 2)"><text x="1">&lt;a&gt;</text></g>').encode())
