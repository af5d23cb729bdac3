"""Tasks of EoH and AlphaEvolve become problems, and problems become tasks of other frameworks, with the same scores."""

import importlib.util
import json
import sys
import tomllib
import types
from pathlib import Path

import pytest
import yaml

import oragent
from oragent._base.errors import ProblemError
from oragent.authoring import importing, scaffold
from oragent.authoring.exporting import FRAMEWORKS, export_task, score_exported
from oragent.evaluation.problem import load_problem
from oragent.harness.framework_modules import EvaluationBase
from oragent.programs import regions

EOH = """import numpy as np
from eoh import BaseProblem


class Split(BaseProblem):
    template_program = \'\'\'
def weight(values: np.ndarray) -> np.ndarray:
    \"\"\"Weigh values.\"\"\"
    return np.ones(len(values))
\'\'\'
    task_description = (
        "Weigh values such that "
        "their \\"weighted\\" mean is 3."
    )

    def __init__(self, timeout: int = 5, n_processes: int = 1):
        super().__init__(timeout=timeout, n_processes=n_processes)

    def evaluate_program(self, program_str, callable_func):
        values = np.arange(1.0, 5.0)
        weights = callable_func(values)
        if weights.sum() <= 0:
            return None
        return float(abs(weights @ values / weights.sum() - 3))
"""
ALPHA_EVALUATE = """from alpha_evolve.models import (
    AlphaEvolveEvaluationInsight, AlphaEvolveEvaluationInsights, AlphaEvolveEvaluationScore, AlphaEvolveEvaluationScores,
    AlphaEvolveProgramEvaluation,
)


def area_evaluation(program_candidate) -> dict:
    score, insights = -1e12, []
    try:
        space = {}
        exec(program_candidate["content"]["files"][0]["content"], space)
        score = float(space["side"]() ** 2)
    except Exception as problem:
        insights.append(AlphaEvolveEvaluationInsight(label="Runtime Error", text=str(problem)))
    scores = AlphaEvolveEvaluationScores(scores=[AlphaEvolveEvaluationScore(metric="area", score=score)])
    return AlphaEvolveProgramEvaluation(
        scores=scores, insights=AlphaEvolveEvaluationInsights(insights=insights)
    ).model_dump()
"""
ALPHA_PROGRAM = "# EVOLVE-BLOCK-START\ndef side():\n    return 3.0\n# EVOLVE-BLOCK-END\n"
ALPHA_DRIVER = """experiment = AlphaEvolveExperiment(client, area_evaluation, 10)
config = {"title": "Area", "problem_description": "Make the side longer."}
"""


@pytest.fixture
def eoh(tmp_path: Path) -> Path:
    folder = tmp_path / "split"
    folder.mkdir()
    (folder / "prob.py").write_text(EOH)
    return folder


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    folder = tmp_path / "area" / "src"
    folder.mkdir(parents=True)
    for name, text in {
        "program.py": ALPHA_PROGRAM, "evaluate.py": ALPHA_EVALUATE, "run_evolution.py": ALPHA_DRIVER
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    return folder.parent


@pytest.mark.slow
def test_a_task_of_eoh_has_the_score_of_its_class(eoh: Path, tmp_path: Path) -> None:
    made = importing.import_task(eoh, tmp_path / "problems")
    problem = load_problem(made.folder)
    assert (problem.about.function, str(problem.about.direction)) == ("weight", "minimize")
    assert problem.about.description == 'Weigh values such that their "weighted" mean is 3.'
    # the mean of 1 to 4 is 2.5, and of weights equal to the values 3
    assert oragent.evaluate(made.folder).score == pytest.approx(0.5)
    better = "def weight(values):\n    return values\n"
    assert oragent.evaluate(made.folder, better).score == pytest.approx(0.0)
    failed = oragent.evaluate(made.folder, "def weight(values):\n    return 0 * values\n")
    assert failed.score is None
    assert "None" in failed.message


@pytest.mark.slow
def test_a_task_of_alphaevolve_has_its_first_score(alpha: Path, tmp_path: Path) -> None:
    made = importing.import_task(alpha, tmp_path / "problems")
    problem = load_problem(made.folder)
    assert (problem.about.function, str(problem.about.direction)) == ("side", "maximize")
    assert problem.about.description == "Make the side longer."
    assert oragent.evaluate(made.folder).score == 9.0
    longer = ALPHA_PROGRAM.replace("3.0", "4.0")
    assert oragent.evaluate(made.folder, longer).score == 16.0
    failed = oragent.evaluate(made.folder, ALPHA_PROGRAM.replace("3.0", "1 / 0"))
    assert failed.score is None
    assert "division by zero" in failed.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prob.py", "class Split:\n    pass\n"),
        ("prob.py", "class Split(BaseProblem):\n    template_program = read()\n"),
        ("program.py", "x = 1\n"),
        ("prob.py", "class Split(BaseProblem):\n    template_program = '''\nx = 1\n'''\n"),
    ],
)
def test_a_task_that_lacks_a_part_is_refused_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / name).write_text(text)
    with pytest.raises(ProblemError):
        importing.import_task(folder, tmp_path / "problems")
    assert not (tmp_path / "problems").exists()


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"exported_{path.parent.name.replace('-', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_exported_evaluators_give_the_score_of_the_problem(tmp_path: Path) -> None:
    folder = scaffold.new("sack", tmp_path / "problems")
    problem = load_problem(folder)
    score = oragent.evaluate(folder).score
    openevolve = export_task(problem, "openevolve", tmp_path / "sack-openevolve").folder
    metrics = load(openevolve / "evaluator.py").evaluate(openevolve / "initial_program.py")
    assert metrics["combined_score"] == metrics["score"] == score
    forged = tmp_path / "forged.py"
    forged.write_text("import os\nprint('__SANDBOX_RESULT__')\nos._exit(0)\n")
    assert load(openevolve / "evaluator.py").evaluate(forged)["combined_score"] == -1e12
    shinka = export_task(problem, "shinka", tmp_path / "sack-shinka").folder
    load(shinka / "evaluate.py").main(shinka / "initial.py", tmp_path / "results")
    assert json.loads((tmp_path / "results" / "metrics.json").read_text())["combined_score"] == score
    assert json.loads((tmp_path / "results" / "correct.json").read_text())["correct"]
    harbor = export_task(problem, "harbor", tmp_path / "sack-harbor").folder
    dense = tmp_path / "dense.py"
    dense.write_text(problem.seed.replace("return value", "return value / weight"))
    scorer = load(harbor / "tests" / "score.py")
    scorer.main(harbor / "environment" / "heuristic.py", tmp_path / "verifier")
    assert float((tmp_path / "verifier" / "reward.txt").read_text()) == 0.0
    scorer.main(dense, tmp_path / "verifier")
    rewards = json.loads((tmp_path / "verifier" / "reward.json").read_text())
    assert rewards["reward"] == pytest.approx(rewards["program_score"] / rewards["seed_score"] - 1)
    assert rewards["reward"] > 0
    # what was exported can be imported again
    again = importing.import_task(openevolve, tmp_path / "again", "again")
    assert regions.split_frame((again.folder / "heuristic.py").read_text())


def test_an_export_has_the_files_of_its_framework(tmp_path: Path) -> None:
    problem = load_problem(scaffold.new("sack", tmp_path / "problems"))
    expected = {
        "openevolve": {"initial_program.py", "evaluator.py", "config.yaml", "problem"},
        "shinka": {"initial.py", "evaluate.py", "shinka.yaml", "problem"},
        "llm4ad": {"evaluation.py", "template.txt", "description.txt", "problem"},
        "cobench": {"config.py", "description.py", "val", "test", "problem.py"},
        "heurigym": {"README.md", "program", "dataset", "problem"},
        "harbor": {"task.toml", "instruction.md", "environment", "tests", "solution"},
    }
    assert set(expected) == set(FRAMEWORKS)
    for framework, names in expected.items():
        made = export_task(problem, framework, tmp_path / framework)
        assert {path.name for path in made.folder.iterdir()} == names
        texts = [path.read_text() for path in made.folder.glob("*.py") if path.is_file()]
        assert "@" not in "".join(texts).replace("@property", "")
        with pytest.raises(ProblemError):
            export_task(problem, framework, tmp_path / framework)
    task = tomllib.loads((tmp_path / "harbor" / "task.toml").read_text())
    assert task["task"]["name"] == "oragent/sack"
    # the agent's container holds neither the scorer nor the instances
    assert {path.name for path in (tmp_path / "harbor" / "environment").iterdir()} == {"Dockerfile", "heuristic.py"}
    assert (tmp_path / "harbor" / "tests" / "test.sh").stat().st_mode & 0o100
    message = yaml.safe_load((tmp_path / "openevolve" / "config.yaml").read_text())["prompt"]["system_message"]
    assert "priority" in message
    with pytest.raises(ProblemError):
        export_task(problem, "paper", tmp_path / "paper")


def test_exported_settings_have_any_character_of_the_description(tmp_path: Path) -> None:
    folder = scaffold.new("sack", tmp_path / "problems")
    title = '\U0001d465 and \u00e9 \\ "'
    about = yaml.safe_load((folder / "problem.yaml").read_text()) | {"title": title, "description": title}
    (folder / "problem.yaml").write_text(yaml.safe_dump(about))
    problem = load_problem(folder)
    made = {name: export_task(problem, name, tmp_path / name).folder for name in ("openevolve", "shinka", "harbor")}
    assert title in yaml.safe_load((made["openevolve"] / "config.yaml").read_text())["prompt"]["system_message"]
    assert title in yaml.safe_load((made["shinka"] / "shinka.yaml").read_text())["evo"]["task_sys_msg"]
    assert tomllib.loads((made["harbor"] / "task.toml").read_text())["task"]["description"] == title


def test_exported_tasks_have_the_limits_of_oragent_on_the_test_set(tmp_path: Path) -> None:
    folder = scaffold.new("sack", tmp_path / "problems")
    script = (folder / "eval.py").read_text()
    script = script.replace(
        "Result(metrics |", "Result({'limit': float(__import__('os').environ['ORAGENT_TIME_LIMIT_S'])} | metrics |"
    )
    (folder / "eval.py").write_text(script)
    problem = load_problem(folder)
    limits = {mode: score_exported(folder, None, mode).metrics["limit"] for mode in ("val", "test")}
    assert limits["test"] == 10 * limits["val"]
    harbor = export_task(problem, "harbor", tmp_path / "harbor").folder
    verifier = tomllib.loads((harbor / "task.toml").read_text())["verifier"]
    assert verifier["timeout_sec"] >= 2 * limits["test"]


def test_a_problem_is_not_exported_into_its_own_folder(tmp_path: Path) -> None:
    problem = load_problem(scaffold.new("sack", tmp_path))
    with pytest.raises(ProblemError):
        export_task(problem, "openevolve", problem.folder / "task")
    assert not (problem.folder / "task").exists()


@pytest.mark.slow
def test_tasks_for_llm4ad_cobench_and_heurigym_give_the_score_of_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = scaffold.new("sack", tmp_path / "problems")
    problem = load_problem(folder)
    score, test_score = oragent.evaluate(folder).score, oragent.evaluate(folder, mode="test").score
    base = types.ModuleType("llm4ad.base")
    base.Evaluation = EvaluationBase
    monkeypatch.setitem(sys.modules, "llm4ad", types.ModuleType("llm4ad"))
    monkeypatch.setitem(sys.modules, "llm4ad.base", base)
    evaluation = load(export_task(problem, "llm4ad", tmp_path / "llm4ad").folder / "evaluation.py").OragentEvaluation()
    assert evaluation.exec_code is False
    assert evaluation.evaluate_program(evaluation.template_program, None) == score
    assert evaluation.evaluate_program("x = 1", None) is None
    config = load(export_task(problem, "cobench", tmp_path / "cobench").folder / "config.py")
    assert "priority" in config.DESCRIPTION
    cases = [*config.load_data(tmp_path / "cobench" / "val"), *config.load_data(tmp_path / "cobench" / "test")]
    assert [config.eval_func(**case, **config.solve(**case)) for case in cases] == [score, test_score]
    with pytest.raises(ValueError, match="priority"):
        config.eval_func(mode="val", program="x = 1")
    heurigym = load(export_task(problem, "heurigym", tmp_path / "heurigym").folder / "program" / "evaluator.py")
    demo = tmp_path / "heurigym" / "dataset" / "demo" / "val.txt"
    solver = load(tmp_path / "heurigym" / "program" / "solver.py")
    solver.solve(str(demo), str(tmp_path / "output"))
    assert heurigym.verify(str(demo), str(tmp_path / "output")) == (True, "")
    assert heurigym.evaluate(str(demo), str(tmp_path / "output")) == -score
    (tmp_path / "output").write_text("x = 1")
    assert heurigym.verify(str(demo), str(tmp_path / "output"))[0] is False


@pytest.mark.slow
def test_openevolve_scores_an_exported_task_itself(tmp_path: Path) -> None:
    pytest.importorskip("openevolve")
    import asyncio

    from openevolve.config import EvaluatorConfig
    from openevolve.evaluator import Evaluator

    problem = load_problem(scaffold.new("sack", tmp_path / "problems"))
    made = export_task(problem, "openevolve", tmp_path / "task").folder
    evaluator = Evaluator(EvaluatorConfig(timeout=120, cascade_evaluation=False), str(made / "evaluator.py"))
    metrics = asyncio.run(evaluator.evaluate_program((made / "initial_program.py").read_text(), "first"))
    assert metrics["combined_score"] == oragent.evaluate(problem.folder).score
    assert "oragent" in sys.modules
