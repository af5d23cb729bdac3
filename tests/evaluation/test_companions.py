"""The whole folder of a problem goes with its evaluator: helpers and data are found in a search as by hand."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.capabilities import list_unmet, require_all
from oragent.evaluation.problem import LimitSettings, Problem, evaluation_root, load_problem
from oragent.sandbox.folders import list_entries
from oragent.sandbox.messages import CompanionFolder

ROOT = Path(__file__).parents[2]
DESCRIPTION = """
title: Sums
description: Sum what the helper reads.
function: weigh
direction: maximize
timeout_s: 20
heuristic_s: 5
environment: {SHOP_BONUS: 1.5}
"""
HELPER = """
from pathlib import Path

import deeper

def read():
    rows = (Path(__file__).parent / "data" / "rows.csv").read_text().split()
    return [float(row) for row in rows] + deeper.MORE
"""
GUARDED = """
from oragent import harness
import os
from pathlib import Path
from shop import read

def evaluate(arguments, heuristic):
    own = (Path(__file__).parent / "data" / "rows.csv").read_text().split()
    assert Path(__file__).resolve().parent.name != "shop_problem" or arguments.file_output_prefix == ""
    values = [heuristic(value) for value in read()]
    bonus = float(os.environ["SHOP_BONUS"])
    return harness.Result({"rows": len(own), "root": arguments.root_dir.name}, None, sum(values) + bonus)

if __name__ == "__main__":
    harness.run(evaluate, function="weigh", sizes={"train": (1,), "val": (1,)})
"""
BLOCK = "__SANDBOX_RESULT__ __METRICS_START__ {} __METRICS_END__ __FEATURES_START__ None __FEATURES_END__"
PLAIN = f"""
import os
from pathlib import Path
from shop import read
from heuristic import weigh
value = sum(map(weigh, read())) + float(os.environ["SHOP_BONUS"])
print(*"{BLOCK} __SCORE_START__".split(), value, "__SCORE_END__", "__SANDBOX_SUCCESS__", sep=chr(10))
"""
NODE = f"""#!/usr/bin/env node
const fs = require("fs"), path = require("path");
const rows = fs.readFileSync(path.join(__dirname, "data", "rows.csv"), "utf8").trim().split(/\\s+/).map(Number);
const helper = require("./tally.js");
const factor = Number(/return x \\* ([0-9.]+)/.exec(fs.readFileSync(path.join(__dirname, "heuristic.py"), "utf8"))[1]);
const score = factor * helper.sum(rows) + Number(process.env.SHOP_BONUS);
console.log("{BLOCK} __SCORE_START__".split(" ").join("\\n"));
console.log(score.toFixed(1)); console.log("__SCORE_END__\\n__SANDBOX_SUCCESS__");
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere" / "shop_problem"
    (folder / "data").mkdir(parents=True)
    (folder / "problem.yaml").write_text(DESCRIPTION)
    (folder / "heuristic.py").write_text("def weigh(x):\n    return x * 2.0\n")
    (folder / "eval.py").write_text(GUARDED)
    (folder / "shop.py").write_text(HELPER)
    (folder / "deeper.py").write_text("MORE = [10.0]\n")
    (folder / "tally.js").write_text("exports.sum = (rows) => rows.reduce((a, b) => a + b, 0);\n")
    (folder / "data" / "rows.csv").write_text("1\n2\n3\n")
    return folder


def evaluated(problem: Problem, *, warm: bool = True, source: str | None = None):
    with EvaluationRunner(warm=warm) as run:
        return run(
            problem.make_job(source or problem.seed, evaluation_root(problem), problem.make_limits(LimitSettings()))
        )


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("script", [GUARDED, PLAIN])
def test_helpers_data_and_variables_are_there_with_a_warm_interpreter_and_without(
    shop: Path, script: str, warm: bool
) -> None:
    (shop / "eval.py").write_text(script)
    ended = evaluated(load_problem(shop), warm=warm)
    assert ended.score == 33.5, (ended.message, ended.log)
    assert ended.metrics.get("root", "shop_problem") == "shop_problem"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
def test_an_evaluator_in_another_language_finds_them_too(shop: Path) -> None:
    (shop / "score.js").write_text(NODE)
    (shop / "problem.yaml").write_text(f"{DESCRIPTION}evaluator: score.js\nrequires: ['program:node']\n")
    ended = evaluated(load_problem(shop))
    assert ended.score == 13.5, (ended.message, ended.log)


@pytest.mark.slow
def test_by_hand_it_is_the_same(shop: Path, tmp_path: Path) -> None:
    script = shop / "eval.py"
    for more in ({}, {"SECRET_OF_MINE": "x"}):
        told = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **more}
        ended = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, env=told)
        assert "\n33.5\n" in ended.stdout, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_a_helper_that_imports_the_candidate_gets_each_candidates_own(shop: Path, warm: bool) -> None:
    (shop / "eval.py").write_text(PLAIN.replace("from heuristic import weigh", "from deeper import weigh"))
    (shop / "deeper.py").write_text("from heuristic import weigh\nMORE = []\n")
    problem = load_problem(shop)
    other = "def weigh(x):\n    return x * 5.0\n"
    assert (evaluated(problem, warm=warm).score, evaluated(problem, warm=warm, source=other).score) == (13.5, 31.5)


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_nothing_in_the_folder_can_be_changed(shop: Path, warm: bool) -> None:
    from oragent.sandbox.isolation.mechanisms import Mechanism
    from oragent.sandbox.isolation.probe import probe_mechanisms

    if not {Mechanism.NAMESPACES, Mechanism.LANDLOCK} & {
        report.mechanism for report in probe_mechanisms() if report.works
    }:
        pytest.skip("nothing here keeps a process from a file of its user")
    writes = """
for name in ("data/rows.csv", "shop.py", "data/new", "new"):
    for base in (Path(__file__).parent, Path(__file__).parent.joinpath("shop.py").resolve().parent):
        try:
            (base / name).write_text("x")
        except OSError:
            pass
"""
    (shop / "eval.py").write_text(PLAIN.replace("value =", f"{writes}\nvalue ="))
    assert evaluated(load_problem(shop), warm=warm).score == 33.5 - 20 + 20
    assert (shop / "data" / "rows.csv").read_text() == "1\n2\n3\n"
    assert sorted(path.name for path in shop.iterdir() if path.name != "__pycache__") == [
        "data", "deeper.py", "eval.py", "heuristic.py", "problem.yaml", "shop.py", "tally.js",
    ]  # fmt: skip


def test_runs_and_hidden_files_in_the_folder_stay_out(shop: Path) -> None:
    (shop / ".env").write_text("KEY=1")
    (shop / "outputs").mkdir()
    (shop / "outputs" / "best.py").write_text("x")
    looks = "found = [str(p) for base in (Path(__file__).parent, Path(__file__).parent.joinpath('shop.py').resolve()"
    looks += ".parent) for p in (base / '.env', base / 'outputs' / 'best.py') if p.is_file() and p.read_text()]\n"
    (shop / "eval.py").write_text(PLAIN.replace("value =", f"{looks}\nassert not found, found\nvalue ="))
    ended = evaluated(load_problem(shop))
    assert ended.score == 33.5 or "Permission" in ended.log, ended.log


@pytest.mark.slow
def test_a_candidate_in_a_guest_sees_none_of_it(shop: Path) -> None:
    peeks = f"def weigh(x):\n    return len(open({str(shop / 'data' / 'rows.csv')!r}).read())\n"
    ended = evaluated(load_problem(shop), source=peeks)
    assert ended.status is Status.ERROR
    assert "No such file" in ended.message or "denied" in ended.message


def test_the_root_is_the_project_around_the_problem_and_never_the_current_folder(
    shop: Path, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # which is a project, as the toy lies in it
    assert evaluation_root(load_problem(toy)) == tmp_path
    assert evaluation_root(load_problem(shop), Path("given")) == tmp_path / "given"
    away = tmp_path.parent / f"{tmp_path.name}-away"
    shutil.copytree(shop, away / "shop_problem")
    assert evaluation_root(load_problem(away / "shop_problem")) == away / "shop_problem"


def test_what_goes_along_is_counted_and_known_by_its_contents(shop: Path) -> None:
    before = load_problem(shop).companions
    size = sum((shop / name).stat().st_size for name in ("shop.py", "deeper.py", "tally.js", "data/rows.csv"))
    assert str(before) == f"4 more files go with the evaluator, read-only: {size} bytes"
    (shop / "README.md").write_text("for people")
    assert load_problem(shop).companions.digest == before.digest
    (shop / "data" / "rows.csv").write_text("1\n2\n4\n")
    assert load_problem(shop).companions.digest != before.digest


def test_too_many_entries_are_one_line(shop: Path) -> None:
    for number in range(501):
        (shop / f"row{number}.csv").touch()
    with pytest.raises(ProblemError, match="508"):
        _ = load_problem(shop).companions


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("requires: [no_such_module]", "needs the Python module 'no_such_module', which is not installed: "),
        ("requires: ['program:no-such-program']", "needs the program no-such-program, which is not on the PATH"),
        (
            "environment: {SHOP_PLACE: }",
            "needs the environment variable SHOP_PLACE, which is not set: export SHOP_PLACE",
        ),
        ("environment: {SHOP_API_KEY: }", "SHOP_API_KEY looks like a key"),
        ("environment: {LD_PRELOAD: x}", "LD_PRELOAD cannot be set by a problem"),
        ("environment: {PATH: x}", "PATH cannot be set by a problem"),
    ],
)
def test_what_is_missing_is_said_before_a_run(shop: Path, lines: str, words: str) -> None:
    (shop / "problem.yaml").write_text(f"{DESCRIPTION.replace('environment: {SHOP_BONUS: 1.5}', '')}{lines}\n")
    problem = load_problem(shop)
    assert len(list_unmet(problem)) == 1
    assert words in list_unmet(problem)[0]
    with pytest.raises(ProblemError):
        require_all(problem)


def test_a_variable_of_the_users_own_is_passed_on(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "problem.yaml").write_text(DESCRIPTION.replace("1.5", ""))
    monkeypatch.setenv("SHOP_BONUS", "2.5")
    assert list_unmet(load_problem(shop)) == []
    assert evaluated(load_problem(shop)).score == 34.5


ASKS = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parents[{above}]))
from heuristic import weigh
print(weigh(10.0))
"""


def starting(shop: Path, name: str, program: str) -> None:
    """Let the evaluator score what a program of the folder prints."""
    (shop / name).parent.mkdir(exist_ok=True)
    (shop / name).write_text(program)
    starts = f"import subprocess, sys\nasked = [sys.executable, str(Path(__file__).parent / {name!r})]\n"
    starts += "value = float(subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout)\n#"
    (shop / "eval.py").write_text(PLAIN.replace("value =", starts))


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("ask.py", ASKS.format(above=0)),
        ("ask.py", ASKS.format(above=0) + "#" * (200 << 10)),
        ("tools/ask.py", ASKS.format(above=1)),
    ],
    ids=["small", "large", "in a subfolder"],
)
def test_a_helper_that_is_started_as_a_program_finds_the_candidate_and_not_the_seed(
    shop: Path, name: str, program: str, warm: bool
) -> None:
    starting(shop, name, program)
    ended = evaluated(load_problem(shop), warm=warm, source="def weigh(x):\n    return x * 7.0\n")
    assert ended.score == 70.0, (ended.message, ended.log)


@pytest.mark.slow
def test_one_among_too_many_files_finds_no_seed_either(shop: Path) -> None:
    from oragent.sandbox.isolation.mechanisms import Mechanism
    from oragent.sandbox.isolation.probe import probe_mechanisms

    if Mechanism.NAMESPACES not in {report.mechanism for report in probe_mechanisms() if report.works}:
        pytest.skip("nothing here hides a file")
    starting(shop, "tools/ask.py", ASKS.format(above=1))
    for number in range(600):
        (shop / "tools" / f"row{number}.csv").touch()
    ended = evaluated(load_problem(shop), source="def weigh(x):\n    return x * 7.0\n")
    assert ended.score is None
    assert "No module named 'heuristic'" in ended.log


def test_only_folders_with_programs_are_made_anew_and_large_data_are_linked(shop: Path) -> None:
    (shop / "tools" / "lists").mkdir(parents=True)
    (shop / "tools" / "ask.py").write_text("print(1)\n")
    (shop / "tools" / "lists" / "large.csv").write_bytes(b"1" * (1 << 20))
    (shop / "tools" / ".key").write_text("secret")
    found = {name: content for name, _, content in list_entries(CompanionFolder(shop, ("eval.py", "heuristic.py")))}
    assert list(found) == [
        "data", "deeper.py", "problem.yaml", "shop.py", "tally.js", "tools/ask.py", "tools/lists",
    ]  # fmt: skip
    assert (found["data"], found["tools/lists"], found["tools/ask.py"]) == (None, None, b"print(1)\n")
