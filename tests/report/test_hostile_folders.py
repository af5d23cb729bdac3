"""``report``, ``rescore``, ``compare`` and ``figure`` on a run folder of somebody else: one line, or what they always do."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from oragent._base.errors import OragentError
from oragent._base.files import replace_file
from oragent._base.protocol import Status
from oragent.evals.bench.plan import BenchCell
from oragent.evals.compare.runner import read_run
from oragent.evaluation import Evaluation
from oragent.ledger import database as databases
from oragent.report.held_out import hash_best, rescore_run
from oragent.report.live.offline import write_report
from oragent.search.folder import RunFolder
from oragent.search.starting import gather_start
from oragent_benchmarks.search.paper_figures import write_figure
from tests.hostile_yaml import TEXTS
from tests.search.hostile_databases import ATTACKS, honest_run

PATIENCE_S = 60
FIGURES = "test.yaml", "fresh.yaml", "final.yaml", "check.yaml"
ODD = {
    "infinity": float("inf"), "no number": float("nan"), "a huge number": 10**249, "text": "nan", "a list": [1],
    "a mapping": {"a": 1}, "nothing": None, "a truth": True, "two lines": "a\nb", "a control character": "a\0b",
}  # fmt: skip
SETTINGS = (
    ("root",), ("problem",), ("config",), ("problem", "folder"), ("problem", "files"), ("problem", "features"),
    ("problem", "published"), ("problem", "direction"), ("config", "archive"), ("config", "strategy"),
    ("config", "budget"), ("config", "model"), ("config", "seed"),
)  # fmt: skip


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return honest_run(tmp_path_factory.mktemp("project"))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End a test that hangs, and a query that has no end."""
    monkeypatch.setattr(databases, "QUERY_S", 0.2)
    monkeypatch.setattr("oragent.report.live.snapshot.QUERY_S", 0.2)
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no end"))
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def folder(honest: RunFolder, tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim").write_text("precious")
    return Path(shutil.copytree(honest.path, tmp_path / "run"))


def run_commands(folder: Path, honest: RunFolder, *, figure: bool = True) -> list[str]:
    """Do what the commands do; return what they refused. Nothing outside of the folder changes."""
    commands: list[Callable[[], object]] = [
        lambda: write_report(folder),
        lambda: rescore_run(folder, 3, lambda _: Evaluation(Status.OK, score=1.0)),
        lambda: read_run(BenchCell("toy", "gp", 1), folder),
        lambda: gather_start([str(folder)], honest.problem, folder.parent),
    ]
    if figure:
        commands.append(lambda: write_figure(folder, "convergence", "svg"))
    lines = []
    for command in commands:
        try:
            command()
        except OragentError as problem:
            lines.append(str(problem))
    assert [line for line in lines if "\n" in line or len(line) >= 1000] == []
    outside = folder.parent / "outside"
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"victim": "precious"}
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_database(name: str, folder: Path, honest: RunFolder) -> None:
    ATTACKS[name](folder / "run.db")
    run_commands(folder, honest, figure=False)  # which reads as ``compare`` does


@pytest.mark.slow
@pytest.mark.parametrize("value", ODD)
def test_odd_values_in_the_configuration_and_in_figures(value: str, folder: Path, honest: RunFolder) -> None:
    odd, config = ODD[value], (folder / "config.yaml").read_text()
    for *sections, key in SETTINGS:
        tree = yaml.safe_load(config)
        part = tree
        for section in sections:
            part = part[section]
        part[key] = odd
        (folder / "config.yaml").write_text(yaml.safe_dump(tree))
        run_commands(folder, honest, figure=False)
    (folder / "config.yaml").write_text(config)
    scored = {"score": odd, "ci95": [0, odd]}
    figures = {
        "program": hash_best(folder),
        "seed": scored,
        "best": scored,
        "paired": odd,
        "fresh_seed": odd,
    }
    figures |= {
        "passed": odd,
        "decisions": odd,
        "reason": odd,
        "cpu_s": odd,
        "elites": {"1": scored | {"id": 1, "val": odd}},
    }
    for name in FIGURES:
        (folder / name).write_text(yaml.safe_dump(figures))
        run_commands(folder, honest, figure=False)
        (folder / name).unlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a billion aliases", "keys of one hash", "a date that is none"])
def test_hostile_yaml(name: str, folder: Path, honest: RunFolder) -> None:
    for file in (*FIGURES, "config.yaml"):
        (folder / file).write_text(TEXTS[name])
        run_commands(folder, honest)


@pytest.mark.slow
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path, honest: RunFolder) -> None:
    (folder / "pictures").mkdir()
    tree = {"program": hash_best(folder), "about": "", "pictures": ["a.png"]}
    (folder / "pictures" / "pictures.yaml").write_text(yaml.safe_dump(tree))
    os.mkfifo(folder / "pictures" / "a.png")
    assert run_commands(folder, honest) == []
    for name in ("best.py", *FIGURES, "config.yaml"):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        run_commands(folder, honest)


def test_nothing_is_written_through_a_link(folder: Path, honest: RunFolder) -> None:
    (folder / "figures").symlink_to(folder.parent / "outside")
    assert any("figures is a link" in line for line in run_commands(folder, honest))
    (folder / f".note.{os.getpid()}.new.txt").symlink_to(folder.parent / "outside" / "victim")
    replace_file(folder / "note.txt", "new")
    assert (folder.parent / "outside" / "victim").read_text() == "precious"
