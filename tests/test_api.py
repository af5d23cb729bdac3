"""oragent from Python: every kind of model, strategy and problem; what a run gives; mistakes are one line."""

import asyncio
import contextlib
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oragent
from oragent._base.protocol import Status
from oragent.api import results
from oragent.api.experiments import source_of
from oragent.evaluation.problem import load_problem as load_problem
from oragent.llm.model import Message
from oragent.llm.model_settings import ModelSettings
from tests.cli.test_cli import complaint
from tests.cli.test_cli import oragent as command

OFFERED = [
    "OragentError", "SearchRun", "Strategy", "Workspace", "comparison", "converse", "duel", "evaluate", "formulate", "load",
    "probe", "problems", "resume", "run", "run_async", "solve", "sweep", "verify",
]  # fmt: skip
FACTOR = 3
HUNDRED = "def guess(x):\n    return 100\n"


def helper(x):
    return FACTOR * x


def guess(x: float) -> float:
    return float(np.sqrt(helper(x))) + math.floor(2.5)


async def step(run: Any) -> None:
    best = run.archive.best
    await run.evaluate(f"def guess(x):\n    return {run.number}.0 + x\n", [best.id], "step")


async def asking(run: Any) -> None:
    reply = await run.ask("code", [Message("user", "Write guess(x).")])
    await run.evaluate(reply.text, [run.archive.best.id], "asked", reply.call)


def writer(messages: list[dict[str, str]]) -> str:
    return f"def guess(x):\n    return {len(messages)} + 60\n"


async def slow_writer(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return writer(messages)


def search(root: Path, problem: Any = "toy", **choices: Any) -> oragent.SearchRun:
    return oragent.run(problem, root=root, workers=1, **({"evaluations": 3} | choices))


def test_the_names_that_oragent_offers_are_these() -> None:
    assert oragent.__all__ == OFFERED
    assert all(getattr(oragent, name).__doc__ for name in OFFERED)
    assert set(OFFERED) <= set(dir(oragent))
    with pytest.raises(AttributeError, match="ran"):
        _ = oragent.ran


def test_importing_oragent_loads_no_part_of_it() -> None:
    code = "import sys, oragent; print([name for name in sys.modules if name.startswith('oragent.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_a_run_is_what_its_folder_says(toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    run = search(
        tmp_path, evaluations=8, seed=5, settings={"archive": {"islands": 1}}, limits={"timeout_s": 19},
        progress=lambda progress: seen.append(progress.spent.evaluations),
    )  # fmt: skip
    assert capfd.readouterr() == ("", "")
    assert seen[0] == 1
    assert seen[-1] == 8
    assert run.folder.parent == tmp_path / "outputs" / "toy"
    assert (run.seed.score, run.seed.id) == (94, "0.0")
    assert run.best.score == min(one.score for one in run.candidates if one.score is not None)
    assert run.best.source.strip() in (run.folder / "best.py").read_text()
    assert (run.spent.evaluations, run.complete, run.reason) == (8, True, "the budget of 8 evaluations is used up")
    assert run.elites[0][0] == run.best
    assert run.replies() == ()
    assert "timeout_s: 19" in (run.folder / "config.yaml").read_text()
    again = oragent.load(str(run.folder))
    assert (again.candidates, again.spent, again.reason) == (run.candidates, run.spent, run.reason)
    assert "the budget of 8 evaluations is used up" in repr(run)
    assert run.report() == run.folder / "report.html"
    assert "toy" in (run.folder / "report.html").read_text()


@pytest.mark.slow
def test_the_same_seed_finds_the_same_from_python_and_from_the_command_line(toy: Path, tmp_path: Path) -> None:
    ours = search(tmp_path, evaluations=6, seed=2)
    assert command("run", "toy", "--evaluations", 6, "--seed", 2, "--outputs", "second", cwd=tmp_path).returncode == 0
    (theirs,) = (tmp_path / "second" / "toy").iterdir()
    assert [one.source for one in ours.candidates] == [one.source for one in oragent.load(theirs).candidates]


@pytest.mark.slow
@pytest.mark.parametrize("model", [writer, slow_writer, lambda messages: writer(messages)])
def test_any_function_of_messages_is_a_model(toy: Path, tmp_path: Path, model: Any) -> None:
    run = search(tmp_path, model=model, strategy=asking, evaluations=2, settings="strategy.window=1")
    assert run.complete
    assert run.best.score == 39
    assert {reply.text for reply in run.replies()} == {"def guess(x):\n    return 1 + 60\n"}
    assert {reply.role for reply in run.replies()} == {"code"}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["scripted", {"name": "scripted"}, ModelSettings(name="scripted", temperature=0.5)])
def test_a_model_is_named_or_described(toy: Path, tmp_path: Path, model: Any) -> None:
    run = search(tmp_path, model=model, strategy="funsearch")
    assert run.replies()
    assert {one.candidate.origin for one in run.candidates} > {"seed"}


def test_a_model_that_fails_ends_the_run_with_its_reason(toy: Path, tmp_path: Path) -> None:
    def broken(messages: list[dict[str, str]]) -> str:
        raise ValueError("no luck")

    run = search(tmp_path, model=broken, strategy=asking)
    assert not run.complete
    assert run.reason == "the model 'broken' failed: ValueError: no luck"
    assert run.best == run.seed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "text", "loaded"])
def test_a_problem_is_a_folder_or_loaded(toy: Path, tmp_path: Path, kind: str) -> None:
    problem = {"folder": toy, "text": str(toy), "loaded": load_problem(toy)}[kind]
    run = oragent.run(problem, evaluations=2, workers=1, outputs=tmp_path / "here", root=tmp_path)
    assert run.folder.parent == tmp_path / "here" / "toy"


@pytest.mark.slow
def test_a_strategy_is_a_class_of_ours_or_a_function_or_a_file(toy: Path, tmp_path: Path) -> None:
    one = oragent.Strategy(name="one", round=step, asks_model=False, islands=1, window=1)
    file = tmp_path / "mine.py"
    file.write_text(
        "from oragent import Strategy\nasync def round(run):\n"
        "    await run.evaluate(f'def guess(x):\\n    return {run.number}', [run.archive.best.id], 'step')\n"
        "STRATEGY = Strategy(name='mine', round=round, asks_model=False)\n"
    )
    for strategy, name in ((one, "one()"), (step, "step()"), (file, "mine"), ("gp", "gp")):
        run = search(tmp_path, strategy=strategy)
        assert f"\n    name: {name}\n" in (run.folder / "config.yaml").read_text()
        assert "(" not in run.folder.name
        assert run.spent.evaluations == 3


@pytest.mark.slow
def test_a_run_by_functions_is_resumed_with_these_alone(toy: Path, tmp_path: Path) -> None:
    run = search(tmp_path, model=writer, strategy=asking, evaluations=1)
    begun = run.candidates
    with pytest.raises(oragent.OragentError, match=r"oragent.resume\(RUN, strategy=asking\)"):
        oragent.resume(run.folder, model=writer, evaluations=2)
    with pytest.raises(oragent.OragentError, match="writer"):
        oragent.resume(run.folder, strategy=asking, evaluations=2)
    with pytest.raises(oragent.OragentError):
        oragent.resume(run.folder, strategy=step)
    assert "oragent.resume(RUN, strategy=asking)" in complaint(command("resume", run.folder, cwd=tmp_path))
    more = oragent.resume(run.folder, strategy=asking, model=writer, evaluations=2)
    assert more.folder == run.folder
    assert more.candidates[: len(begun)] == begun
    assert (more.spent.evaluations, more.complete) == (2, True)


@pytest.mark.slow
def test_a_run_whose_model_was_a_function_goes_on_with_one_that_has_a_name(toy: Path, tmp_path: Path) -> None:
    run = search(tmp_path, model=writer, strategy="funsearch", evaluations=1)
    line = complaint(command("resume", run.folder, "budget.evaluations=3", cwd=tmp_path))
    assert "the model writer() is a Python function, " in line
    done = command("resume", run.folder, "budget.evaluations=3", "model.name=scripted", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert oragent.load(run.folder).spent.evaluations == 3


def test_rows_have_the_documented_columns_and_what_the_database_holds(toy: Path, tmp_path: Path) -> None:
    run = search(tmp_path, model=writer, strategy=asking, evaluations=2, settings="strategy.window=1")
    columns, rows = results.make_rows(run._data)
    assert set(columns) == {*results.COLUMNS, "feature_remainder"}
    assert all(list(row) == columns for row in rows)
    seed, asked = rows[:2]
    assert (seed["id"], seed["status"], seed["score"], seed["gain"], seed["feature_remainder"]) == (
        "0.0",
        "ok",
        94,
        0,
        6,
    )
    assert (asked["parents"], asked["score"], asked["gain"], asked["model"]) == (("0.0",), 39, 55, "writer")
    assert asked["tokens_in"] > 0
    assert math.isnan(asked["money"])
    with contextlib.closing(sqlite3.connect(run.folder / "run.db")) as db, db:
        stored = db.execute(
            "SELECT round, number, fingerprint, source FROM candidates ORDER BY round, number"
        ).fetchall()
    db.close()
    assert [(row["round"], row["number"], row["fingerprint"], row["source"]) for row in rows] == stored
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text()
    assert all(f"`{name}`" in page for name in results.COLUMNS)


def test_a_frame_is_made_where_pandas_is(toy: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = search(tmp_path, strategy=step).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["score"]) == [94, 96, 95]
    assert frame["score"].dtype == float


def test_without_pandas_a_frame_is_one_clear_line(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = search(tmp_path, evaluations=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(oragent.OragentError, match="pandas"):
        run.to_frame()


@pytest.mark.slow
def test_a_program_is_scored_as_text_as_file_and_as_function(toy: Path, tmp_path: Path) -> None:
    file = tmp_path / "better.py"
    file.write_text(HUNDRED)
    for program in (HUNDRED, file, str(file)):
        assert oragent.evaluate("toy", program, root=tmp_path).score == 0
    assert oragent.evaluate(toy, root=tmp_path).score == 94
    assert oragent.evaluate("toy", guess, root=tmp_path).score == 95
    failed = oragent.evaluate("toy", "def guess(x):\n    return 1 / 0\n", root=tmp_path)
    assert (failed.status, failed.score, failed.message) == (Status.ERROR, None, "division by zero")


def test_a_function_takes_along_what_it_uses() -> None:
    source = source_of(guess)
    assert source.startswith("import math\nimport numpy as np\n\n\nFACTOR = 3\n\n\ndef helper")
    space: dict[str, Any] = {}
    exec(source, space)
    assert space["guess"](3) == guess(3)


def factory(step: float) -> Any:
    def guess(x):
        return x + step

    return guess


UNSAFE = object()


def clumsy(x):
    return UNSAFE


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda x: 100, "a lambda has no source of its own"),
        (factory(2.0), "guess is a closure over step"),
        (clumsy, "clumsy uses UNSAFE, a object of its module"),
        (len, "len is no function made by def"),
        (7, "a int is no function made by def"),
        (helper, "guess"),
        ("def other(x):\n    return 1\n", "guess"),
        ("def guess(x):\n    return (\n", "line 2"),
        (Path("none.py"), "cannot read none.py"),
    ],
)
def test_a_program_that_cannot_be_one_is_one_clear_line(toy: Path, tmp_path: Path, program: Any, said: str) -> None:
    with pytest.raises(oragent.OragentError) as problem:
        oragent.evaluate("toy", program, root=tmp_path)
    assert said in str(problem.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"problem": "tyo"}, "unknown problem 'tyo': did you mean toy"),
        ({"problem": 7}, "problem must be a name, a folder or a Problem, not int"),
        ({"evalutions": 3}, "unknown key 'evalutions'"),
        ({"budget": {"evaluation": 3}}, "unknown key 'budget.evaluation': did you mean 'evaluations'?"),
        ({"settings": "archive.island=3"}, "unknown key 'archive.island': did you mean 'islands'?"),
        ({"settings": [3]}, "settings must be a tree (a dict) or texts"),
        ({"seed": "x"}, "key 'seed': input should be a valid integer"),
        ({"model": 7}, "model must be a name, settings or a function of messages, not int"),
        ({"strategy": "hil"}, "unknown strategy 'hil'"),
        ({"strategy": writer}, "a coroutine function (async def round(run): ...), not the plain function writer"),
        ({"strategy": 7}, "not a int"),
        ({"strategy": "funsearch"}, "needs a model"),
        ({"config": "none.yaml"}, "cannot read the configuration none.yaml"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_mistake_is_one_clear_line_and_leaves_no_folder(toy: Path, tmp_path: Path, choices: Any, said: str) -> None:
    with pytest.raises(oragent.OragentError) as problem:
        search(tmp_path, **choices)
    assert said in str(problem.value)
    assert "\n" not in str(problem.value)
    assert not (tmp_path / "outputs").exists()


def test_what_is_no_run_is_one_clear_line(tmp_path: Path) -> None:
    for read in (oragent.load, oragent.resume):
        with pytest.raises(oragent.OragentError):
            read(tmp_path / "nowhere")


def test_problems_are_those_of_the_nearest_folder(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "deep" / "down"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert {"toy", "tsp_aco"} <= {problem.name for problem in oragent.problems()}  # beside those that ship
    shutil.rmtree(toy)
    assert "toy" not in {problem.name for problem in oragent.problems()}


@pytest.mark.slow
def test_the_held_out_set_is_scored_when_asked(tmp_path: Path) -> None:
    assert command("new", "sack", cwd=tmp_path).returncode == 0
    run = oragent.run(tmp_path / "problems" / "sack", root=tmp_path, evaluations=2, workers=1)
    assert not (run.folder / "test.yaml").exists()
    found = run.test()
    assert found["seed"]["score"] > 0
    assert os.path.exists(run.folder / "test.yaml")
