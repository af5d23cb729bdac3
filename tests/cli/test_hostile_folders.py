"""Every command that reads a run folder, on folders in which somebody put other things in the place of their entries.

Each command ends in time, in one line or as it always does, without a traceback; nothing outside of the folder changes.
"""

import json
import os
import random
import re
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.strategies import STRATEGIES
from tests.conftest import write_toy
from tests.forked import command
from tests.hostile_yaml import TEXTS
from tests.search.test_engine import search

HUGE_BYTES = 8 << 30  # without a block on the disk
LINE_CHARACTERS = 1000
IN_DEFAULT = 1  # cases of each command that are tried by default
IN_SLOW = int(os.environ.get("ORAGENT_TEST_HOSTILE_ENTRIES", "4"))  # entries by command and attack, in a slow test
PRECIOUS = b"def guess(x):  # precious\n    return 7\n"  # what lies outside: a program, so that it could be read as one
RUN = "RUN"  # stands for the folder in a command
COMMANDS = {
    "show": ("show", RUN),
    "report": ("report", RUN, "--no-check"),
    "report --test": ("report", RUN, "--no-check", "--test"),
    "report --final": ("report", RUN, "--no-check", "--final"),
    "report --pictures": ("report", RUN, "--no-check", "--pictures"),
    "resume": ("resume", RUN, "budget.evaluations=7"),
    "resume --rebuild": ("resume", RUN, "--rebuild", "budget.evaluations=7"),
    "rescore": ("rescore", RUN, "--most", "1"),
    "run --replay": ("run", "--replay", RUN),
    "run --start": ("run", "toy", "--start", RUN, "--strategy", "gp", "budget.evaluations=2"),
    "watch": ("watch", RUN, "--out", "page.html"),
    "watch of the folder above": ("watch", f"{RUN}/..", "--out", "page.html"),
    "steer": ("steer", RUN, "pause"),
    "steer hint": ("steer", RUN, "hint", "try squares"),
    "steer answer": ("steer", RUN, "answer"),
    "steer answer FILE": ("steer", RUN, "answer", "problems/toy/heuristic.py"),
    "figure": ("bench", "figure", RUN, "--format", "svg"),
    "figure lineage": ("bench", "figure", RUN, "--format", "svg", "--kind", "lineage"),
}  # fmt: skip
# Also those that a run writes only later, or that only some runs have.
ENTRIES = (
    "run.db", "config.yaml", "best.py", "candidates", "candidates/0.0", "candidates/0.0/heuristic.py", "report.html",
    "figures", "pictures", "test.yaml", "final.yaml", "steering", "steering/asked", "steering/answers",
    "run.lock", "running.json", "strategy.py", "run.db-wal", "run.db-journal",
)  # fmt: skip
Attack = Callable[[Path, Path], object]  # path of the entry, folder outside


def put_garbage(path: Path, _: Path) -> None:
    """Write bytes without a meaning."""
    path.write_bytes(random.Random(7).randbytes(1 << 16))


def put_huge(path: Path, _: Path) -> None:
    """Write a file of zeros that no memory holds."""
    with path.open("wb") as file:
        file.truncate(HUGE_BYTES)


def put_deep_folder(path: Path, _: Path) -> None:
    """Make a folder in a folder, 200 times, and a link that leads back."""
    path.mkdir()
    (path / "back").symlink_to(path)
    path.joinpath(*["d"] * 200).mkdir(parents=True)


def put_socket(path: Path, _: Path) -> None:
    """Bind a socket; its path is relative, as a long one has no room in an address."""
    place = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{place}/{path.name}")
    finally:
        os.close(place)


ATTACKS: dict[str, Attack] = {
    "nothing": lambda path, _: None,
    "garbage": put_garbage,
    "a huge file": put_huge,
    "a deep folder": put_deep_folder,
    "a pipe": lambda path, _: os.mkfifo(path),
    "a socket": put_socket,
    "a link to a file": lambda path, outside: path.symlink_to(outside / "victim"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside),
    "a link to nothing": lambda path, outside: path.symlink_to(outside / "new"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link without an end": lambda path, _: path.symlink_to("/dev/zero"),
    "a billion aliases": lambda path, _: path.write_text(TEXTS["a billion aliases"]),
    "lists in lists": lambda path, _: path.write_text(TEXTS["lists in lists"]),
}
CASES = [(entry, attack) for entry in ENTRIES for attack in ATTACKS]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one honest run, ``outputs/toy/run``."""
    root = tmp_path_factory.mktemp("project")
    toy = write_toy(root)
    config = build_config({}, ["budget.evaluations=6", "strategy.name=gp"], "test")
    folder = make_folder(root, root / "outputs", load_problem(toy), config)
    search(folder, STRATEGIES["gp"])
    folder.path.rename(root / "outputs" / "toy" / "run")
    return root


def describe_tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time of change and content of all that a folder holds."""
    return {
        str(path.relative_to(folder)): (
            (status := path.lstat()).st_mode,
            status.st_mtime_ns,
            path.read_bytes() if stat.S_ISREG(status.st_mode) else b"",
        )
        for path in [folder, *folder.rglob("*")]
    }


def attack_folder(project: Path, tmp_path: Path, entry: str, attack: str) -> tuple[Path, Path]:
    """Copy the run, and put something in the place of one of its entries.

    Returns:
        The folder, and another one outside of the project, which nobody may change.
    """
    outside, folder = tmp_path / "outside", tmp_path / "project" / "outputs" / "toy" / "run"
    shutil.copytree(project, tmp_path / "project", symlinks=True)
    (outside / "inner").mkdir(parents=True)
    (outside / "victim").write_bytes(PRECIOUS)
    (outside / "heuristic.py").write_bytes(PRECIOUS)
    path = folder / entry
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    ATTACKS[attack](path, outside)
    return folder, outside


def run_hostile(name: str, case: tuple[str, str], project: Path, tmp_path: Path) -> str:
    """Run a command on an attacked folder, and check what it did; return what it said."""
    folder, outside = attack_folder(project, tmp_path, *case)
    root, before = tmp_path / "project", describe_tree(outside)
    problem = describe_tree(root / "problems")
    words = [word.replace(RUN, str(folder)) for word in COMMANDS[name]]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    ended = command(words, root, kept | {"COLUMNS": "120"})
    said = ended.stdout + ended.stderr
    assert ended.returncode in (0, 1), (ended.returncode, said[-2000:])
    assert not re.search("^Traceback", said, re.MULTILINE), said[-2000:]
    assert PRECIOUS.decode() not in said
    written = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in written if 0 < path.stat().st_size < HUGE_BYTES and PRECIOUS in path.read_bytes()] == []
    if ended.returncode and not ended.stdout:
        assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
        assert len(ended.stderr) < LINE_CHARACTERS
    assert describe_tree(outside) == before
    assert describe_tree(root / "problems") == problem
    assert {path.name for path in root.iterdir()} <= {"problems", "outputs", "page.html"}
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_few_hostile_folders(name: str, project: Path, tmp_path: Path) -> None:
    for number, case in enumerate(random.Random(name).sample(CASES, IN_DEFAULT)):
        run_hostile(name, case, project, tmp_path / str(number))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["best.py", "candidates/0.0/heuristic.py"])
def test_no_run_begins_with_a_program_that_a_link_leads_to(entry: str, project: Path, tmp_path: Path) -> None:
    assert "is a link" in run_hostile("run --start", (entry, "a link to a file"), project, tmp_path)


@pytest.mark.parametrize("entry", ["steering", "steering/answers"])
def test_an_answer_is_not_written_through_a_link(entry: str, project: Path, tmp_path: Path) -> None:
    folder, outside = attack_folder(project, tmp_path, entry, "a link to a folder")
    asked = (outside if entry == "steering" else folder / "steering") / "asked"
    asked.mkdir(parents=True)
    (asked / "1.0.json").write_text(json.dumps({"key": "1.0", "role": "code", "prompt": "Write guess."}))
    before = describe_tree(outside)
    words = [word.replace(RUN, str(folder)) for word in COMMANDS["steer answer FILE"]]
    ended = command(words, tmp_path / "project", {**os.environ, "COLUMNS": "120"})
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1), ended.stderr
    assert describe_tree(outside) == before


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", COMMANDS)
def test_all_hostile_folders(name: str, attack: str, project: Path, tmp_path: Path) -> None:
    entries = random.Random(f"{name} {attack}").sample(ENTRIES, min(IN_SLOW, len(ENTRIES)))
    for number, entry in enumerate(entries):
        run_hostile(name, (entry, attack), project, tmp_path / str(number))
        shutil.rmtree(tmp_path / str(number))
