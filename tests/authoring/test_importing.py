"""Tasks for other frameworks become problems: imported, checked, searched; what has no place here is said."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import oragent
from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.authoring import Level, check_problem, importing
from oragent.authoring.foreign_tasks import read_config, read_task
from oragent.authoring.importing import find_tasks, import_suite, import_task
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.harness.foreign import OTHER_DATA
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.genetics.variation import child_of_seed
from oragent.search.launch import launch
from oragent.search.store import Store
from tests.authoring.layouts import FILES, write_task

TASKS = Path(__file__).parent / "tasks"


def test_a_task_of_openevolve_becomes_a_problem_and_says_what_is_left_behind(tmp_path: Path) -> None:
    made = import_task(TASKS / "function_minimization", tmp_path, is_tried=False)
    problem = load_problem(made.folder)
    assert (problem.about.function, problem.about.timeout_s, len(problem.signature.frame)) == (
        "search_algorithm",
        60,
        3,
    )
    assert problem.about.description.startswith("You are an expert in optimisation.")
    assert [(axis.name, axis.bins, axis.kind) for axis in problem.about.features] == [
        ("complexity", 8, "number"),
        ("distance_score", 8, "number"),
    ]
    assert problem.about.requires == ("numpy",)
    told = "\n".join(made.omitted)
    for words in (
        "diversity is left out",
        "database.num_islands: oragent run FOLDER archive.islands=3",
        "llm.primary_model, api_base, temperature: name a model with --model",
        "prompt.num_top_programs",
        "max_iterations: oragent run FOLDER --evaluations N",
        "no-such-distribution is not installed",
        "evaluator.parallel_evaluations",
        "cascade=0.5",
    ):
        assert words in told, told


@pytest.mark.slow
@pytest.mark.parametrize("task", ["function_minimization", "spread_points"])
def test_an_imported_task_passes_the_check(task: str, tmp_path: Path) -> None:
    made = import_task(TASKS / task, tmp_path)
    found = list(check_problem(made.folder, None, child_of_seed, quick=True))
    failures = [(one.title, one.detail) for one in found if one.level is Level.FAILURE]
    assert failures == []
    assert [one.level for one in found if one.title == "candidate that forges a result"] == [Level.OK]


CASCADE = """
import importlib.util


def run(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.search_algorithm()


def evaluate_stage1(program_path):
    try:
        run(program_path)
    except Exception:
        return {"runs_successfully": 0.0, "combined_score": 0.0}
    return {"runs_successfully": 1.0, "combined_score": 0.5}


def evaluate(program_path):
    try:
        x, y, value = run(program_path)
        return {"runs_successfully": 1.0, "combined_score": 1 / (1 + abs(float(x)) + abs(float(y)))}
    except Exception as problem:
        return {"runs_successfully": 0.0, "error": str(problem)}
"""


@pytest.mark.slow
def test_a_lenient_first_stage_is_no_failure_of_the_check(task: Path, tmp_path: Path) -> None:
    """The first stage accepts any result, and names a program that fails by ``runs_successfully`` alone."""
    (task / "evaluator.py").write_text(CASCADE)
    made = import_task(task, tmp_path / "problems")
    found = list(check_problem(made.folder, None, child_of_seed, quick=True))
    assert [(one.title, one.detail) for one in found if one.level is Level.FAILURE] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", ["function_minimization", "spread_points"])
def test_an_imported_task_is_searched_within_its_markers(task: str, tmp_path: Path) -> None:
    problem = load_problem(import_task(TASKS / task, tmp_path).folder)
    config = build_config({}, ["budget.evaluations=12", "strategy.name=gp", "workers=1"], "test")
    folders = []

    def opening():
        folders.append(make_folder(problem.folder, tmp_path / "outputs", problem, config))
        return folders[-1]

    outcome = launch(config, problem.folder, problem, opening, lambda progress: None)
    assert outcome.progress.best.score >= outcome.progress.seed.score
    with Store(folders[-1].database, readonly=True) as store:
        records = store.records()
    assert sum(record.score is not None for record in records) > 4
    fixed = problem.signature.frame[-1]
    assert all(record.source.endswith(fixed) for record in records)


def test_a_program_with_an_error_has_no_score(tmp_path: Path) -> None:
    problem = load_problem(import_task(TASKS / "function_minimization", tmp_path, is_tried=False).folder)
    with EvaluationRunner() as run:
        ended = run(
            problem.make_job(
                problem.seed.replace("best_x = np", "best_x = nope"), tmp_path, problem.make_limits(LimitSettings())
            )
        )
    assert (ended.status, ended.score) == (Status.ERROR, None)
    assert "nope" in ended.message


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TASKS / "function_minimization", tmp_path / "task"))


def test_what_is_no_task_is_one_line(task: Path, tmp_path: Path) -> None:
    import_task(task, tmp_path / "problems")
    with pytest.raises(ProblemError, match="--name"):
        import_task(task, tmp_path / "problems")
    for damage, words in (
        (lambda: (task / "config.yaml").write_text("a: ["), "is not YAML"),
        (lambda: (task / "config.yaml").write_text("[1]"), "must contain keys and values"),
        (lambda: (task / "config.yaml").write_text("[" * 500), "nested more than 100 levels deep"),
        (lambda: (task / "evaluator.py").write_text("x = 1\n"), "defines neither evaluate"),
        (
            lambda: (task / "initial_program.py").write_text("# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\n"),
            "no function",
        ),
        (lambda: (task / "initial_program.py").write_text("class Solver:\n    pass\n"), "no class"),
        (lambda: (task / "initial_program.py").write_text("def f(:\n"), "no valid program"),
        (lambda: (task / "initial_program.py").unlink(), "initial_program.py or initial.py"),
    ):
        shutil.rmtree(task)
        shutil.copytree(TASKS / "function_minimization", task)
        damage()
        with pytest.raises(ProblemError) as caught:
            import_task(task, tmp_path / "other")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_links_of_a_task_are_not_followed(task: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (task / "notes").symlink_to(tmp_path / "secret")
    (task / "folder").symlink_to(tmp_path)
    made = import_task(task, tmp_path / "problems", "mine")
    names = sorted(path.name for path in made.folder.iterdir())
    assert names == ["eval.py", "heuristic.py", "problem.yaml", "task"]
    copied = sorted(path.name for path in (made.folder / "task").iterdir())
    assert copied == ["evaluator.py", "initial_program.py"]
    assert yaml.safe_load((made.folder / "problem.yaml").read_text())["function"] == "search_algorithm"


def test_a_suite_is_a_row_for_each_task(task: Path, tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    for layout in ("llm4ad", "eoh"):
        write_task(layout, suite / "area" / layout)
    write_task("openevolve", suite / "twin" / "eoh")
    (suite / "twin" / "eoh" / "initial_program.py").unlink()
    (suite / ".git" / "x").mkdir(parents=True)
    (suite / "other").mkdir()
    (suite / "other" / "config.py").write_bytes(b"\xff\xfe")
    assert [path.relative_to(suite).as_posix() for path in find_tasks(suite)] == ["area/eoh", "area/llm4ad", "twin/eoh"]
    rows = list(import_suite(suite, tmp_path / "problems"))
    assert [(row.name, row.framework, row.trial.status) for row in rows] == [
        ("area_eoh", "EoH", "isolated"),
        ("llm4ad", "LLM4AD", "isolated"),
        ("twin_eoh", "", "refused"),
    ]
    assert "initial_program.py" in rows[2].trial.reason
    assert sorted(path.name for path in (tmp_path / "problems").iterdir()) == ["area_eoh", "llm4ad"]
    with pytest.raises(ProblemError):
        list(import_suite(suite / ".git", tmp_path / "problems"))


@pytest.mark.parametrize(
    ("layout", "under", "more"),
    [
        *((layout, "", {}) for layout in FILES),
        ("alphaevolve", "src", {"run.py": ""}),
        ("openevolve", "", {"config.py": "SIZE = 3\n"}),
        ("openevolve", "", {"__init__.py": ""}),
        ("eoh", "", {"config.py": "SIZE = 3\n"}),
    ],
)
def test_a_folder_that_can_be_imported_is_found_in_a_suite(
    layout: str, under: str, more: dict[str, str], tmp_path: Path
) -> None:
    task = tmp_path / "suite" / "area" / "task"
    write_task(layout, task / under)
    for name, text in more.items():
        (task / name).write_text(text)
    assert find_tasks(tmp_path / "suite") == [task]
    assert read_task(task, read_config(task)).evaluator
    # A damaged configuration is a reason to refuse a task, and not to leave it out.
    (task / "config.yaml").unlink(missing_ok=True)
    (task / "config.yml").write_text("{")
    assert (find_tasks(tmp_path / "suite") == [task]) is (layout != "next")


@pytest.mark.parametrize(
    "files",
    [
        {"config.yaml": "# module: evaluator.py:Evaluator\n"},
        {"config.yaml": "module: evaluator.py:Evaluator\n"},
        {"__init__.py": "", "evaluator.py": "def evaluate(program_path):\n    pass\n"},
        {"config.py": "SIZE = 3\n"},
        {"program.py": "", "src/evaluate.py": ""},
    ],
)
def test_a_folder_that_cannot_be_imported_and_has_no_evaluator_is_no_task(
    files: dict[str, str], tmp_path: Path
) -> None:
    task = tmp_path / "suite" / "area"
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    assert task not in find_tasks(tmp_path / "suite")
    with pytest.raises(ProblemError):
        read_task(task, read_config(task))


def test_a_task_without_a_limit_of_time_gets_a_finite_one(tmp_path: Path) -> None:
    task = write_task("openevolve", tmp_path / "task")
    (task / "config.yaml").write_text("evaluator: {timeout: .inf}\n")
    assert load_problem(import_task(task, tmp_path / "problems").folder).about.timeout_s < 1e6


@pytest.mark.parametrize("function", ["try_seed", "_draws_other_data"])
def test_an_interrupted_import_can_be_repeated(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = write_task("llm4ad", tmp_path / "task")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(importing, function, interrupt)
        with pytest.raises(KeyboardInterrupt):
            import_task(task, tmp_path / "problems")
    assert import_task(task, tmp_path / "problems", is_tried=False).folder.is_dir()


def test_a_task_is_not_imported_into_its_own_folder(tmp_path: Path) -> None:
    task = write_task("openevolve", tmp_path / "task")
    with pytest.raises(ProblemError):
        import_task(task, task)
    assert not (task / "task").exists()


PROGRAM = '''"""Without random numbers."""


def f(x):
    # No random choice.
    return x
'''
LOADER = """
import importlib.util

def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        'return {"combined_score": 3.0}  # program.f(x) is never called',
        'return {"combined_score": program.f(1.0) + len(open(program_path).read())}',
    ],
)
def test_a_task_whose_score_is_not_that_of_its_calls_is_forgeable(body: str, tmp_path: Path) -> None:
    """The score of a stand-in would be that of the seed for all programs."""
    task = tmp_path / "task"
    task.mkdir()
    (task / "initial_program.py").write_text(PROGRAM)
    (task / "evaluator.py").write_text(LOADER.format(body=body))
    made = import_task(task, tmp_path / "problems")
    assert made.trial.status == "forgeable"
    assert made.trial.reason


def test_an_evaluator_that_ends_its_process_is_named(tmp_path: Path) -> None:
    task = tmp_path / "task"
    task.mkdir()
    (task / "initial_program.py").write_text(PROGRAM)
    (task / "evaluator.py").write_text("import sys\n\ndef evaluate(program_path):\n    sys.exit(0)\n")
    folder = import_task(task, tmp_path / "problems", is_tried=False).folder
    ended = oragent.evaluate(folder)
    assert (ended.score, ended.status) == (None, Status.CRASHED)
    assert "exit code 0" in ended.message


def import_program(tmp_path: Path, program: str, body: str) -> importing.ImportedTask:
    task = tmp_path / "task"
    task.mkdir()
    (task / "initial_program.py").write_text(program)
    (task / "evaluator.py").write_text(LOADER.format(body=body))
    return import_task(task, tmp_path / "problems")


MINIMISE = "def f(cost):\n    return min(range(9), key=cost)\n"
PASSES = """def cost(x):
        return (x - 3) ** 2
    return {"combined_score": float(program.f(cost))}
"""


def test_functions_that_the_evaluator_passes_are_named(tmp_path: Path) -> None:
    made = import_program(tmp_path, MINIMISE, PASSES)
    name = "evaluate.<locals>.cost"
    assert (made.trial.status, made.trial.score, made.trial.callbacks) == ("isolated", 3.0, (name,))
    assert any(name in line for line in made.taken)
    assert name in (made.folder / "eval.py").read_text()
    assert oragent.evaluate(made.folder, MINIMISE.replace("range(9)", "range(5, 9)")).score == 5.0
    settings = (made.folder / "eval.py").read_text().replace(name, "other")
    (made.folder / "eval.py").write_text(settings)
    assert oragent.evaluate(made.folder).score is None


@pytest.mark.parametrize(
    ("program", "body", "status", "word"),
    [
        (
            "def f(items):\n    items.sort()\n",
            'items = [3, 1, 2]\n    program.f(items)\n    return {"combined_score": float(items[0])}',
            "forgeable",
            "in place",
        ),
        (
            "import random\n\ndef f(n):\n    return random.random()\n",
            'import random\n    random.random()\n    return {"combined_score": program.f(1)}',
            "noisy",
            "random",
        ),
        (
            "def f(n):\n    return n\n",
            'import time\n    return {"combined_score": program.f(time.time_ns())}',
            "noisy",
            "varies",
        ),
        (
            "class Rule:\n    pass\n\ndef f(n):\n    return n\n",
            'return {"combined_score": program.f(1) + len(program.Rule.__name__)}',
            "forgeable",
            "Rule",
        ),
    ],
)  # fmt: skip
def test_a_seed_with_another_score_in_its_own_process_is_not_called_isolated(
    tmp_path: Path, program: str, body: str, status: str, word: str
) -> None:
    made = import_program(tmp_path, program, body)
    assert made.trial.status == status
    assert word in made.trial.reason
    assert load_problem(made.folder).is_guarded == (status == "noisy")


DRAWN = '''
import random
import numpy as np
from llm4ad.base import Evaluation

template_program = """
def weigh(value):
    return value
"""
task_description = "Weigh."


class Weigh(Evaluation):
    def __init__(self, timeout_seconds=20):
        super().__init__(template_program=template_program, timeout_seconds=timeout_seconds)
        @SEEDED@

    def evaluate_program(self, program_str, callable_func):
        return sum(callable_func(value) for value in self.values)
'''
DRAWS = {
    "np.random.seed(2024); self.values = np.random.rand(3).tolist()": lambda seed: (
        np.random.RandomState(seed).rand(3).tolist()
    ),
    "self.values = np.random.default_rng(seed=2024).random(3).tolist()": lambda seed: (
        np.random.default_rng(seed).random(3).tolist()
    ),
    "random.seed(2024); self.values = [random.random()]": lambda seed: [random.Random(seed).random()],
    "self.values = [1.0, 2.0]": None,
}


@pytest.mark.parametrize("seeded", DRAWS)
def test_generated_data_have_a_test_set_of_other_seeds(seeded: str, tmp_path: Path) -> None:
    folder = tmp_path / "weigh"
    folder.mkdir()
    (folder / "evaluation.py").write_text(DRAWN.replace("@SEEDED@", seeded))
    made = import_task(folder, tmp_path / "problems")
    assert made.trial.status == "isolated"
    held_out = oragent.evaluate(made.folder, mode="test")
    if (draw := DRAWS[seeded]) is None:
        # Data that do not depend on these seeds are no held-out set.
        assert held_out.score is None
    else:
        assert (made.trial.score, held_out.score) == (sum(draw(2024)), sum(draw(2024 + OTHER_DATA)))
        assert oragent.evaluate(made.folder).score == made.trial.score


def write_next(folder: Path, old: str = "", new: str = "") -> Path:
    task = write_task("next", folder)
    text = (task / "config.yaml").read_text()
    assert old in text
    (task / "config.yaml").write_text(text.replace(old, new))
    return task


DATASET = "{mode: directory, path: data/instances, recursive: false}"


@pytest.mark.parametrize(
    "dataset",
    [
        "{mode: glob, pattern: 'data/a**b/*'}",
        "{mode: glob, pattern: '../*'}",
        "{mode: glob, pattern: /etc/passwd}",
        "{mode: directory, path: ../..}",
        "{mode: files, files: [/etc/passwd]}",
        "{mode: files, files: [data/none.json]}",
        "{mode: files, files: data/instances/one.json}",
        "{mode: glob, pattern: 'data/*.none'}",
    ],
)
def test_data_of_llm4ad_next_are_files_of_the_task(dataset: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError):
        import_task(write_next(tmp_path / "weights", DATASET, dataset), tmp_path / "problems", is_tried=False)


@pytest.mark.parametrize(
    ("dataset", "values"),
    [
        ("{mode: files, files: [data/instances/one.json, data/deep/two.json]}", [-10.0, -14.0]),
        ("{files: [weights/data/deep/two.json]}", [-14.0]),
        ("{mode: directory, path: data}", [-14.0, -10.0]),
        ("{mode: directory, path: weights/data/deep, recursive: false}", [-14.0]),
        ("{mode: glob, path: data, pattern: 'inst*/*.json'}", [-10.0]),
        ("{mode: glob, pattern: 'data/*/*.json'}", [-14.0, -10.0]),
    ],
)
def test_a_project_has_a_score_for_each_file_with_data(dataset: str, values: list[float], tmp_path: Path) -> None:
    task = write_next(tmp_path / "weights", DATASET, dataset)
    (task / "data/deep").mkdir()
    (task / "data/deep/two.json").write_text("[2, 3, 4, 5]")
    evaluator = task / "weights_evaluator.py"
    old, new = "loss(lambda values: json.loads(output))", "sum(json.loads(Path(cfg.data_path).read_text()))"
    assert old in evaluator.read_text()
    evaluator.write_text(evaluator.read_text().replace(old, new))
    made = import_task(task, tmp_path / "problems", is_tried=False)
    assert load_problem(made.folder).about.timeout_s == 20 * len(values)
    result = oragent.evaluate(made.folder)
    assert (result.score, result.metrics["by_instance"]) == (sum(values) / len(values), {"all": values})


@pytest.mark.parametrize("dataset", ["{}", "{mode: files, files: []}", "none"])
def test_a_task_of_llm4ad_next_may_have_no_data(dataset: str, tmp_path: Path) -> None:
    task = write_next(tmp_path / "weights", DATASET, dataset)
    evaluator = task / "weights_evaluator.py"
    evaluator.write_text(evaluator.read_text().replace("Path(cfg.data_path).read_text()", "'[1, 2, 3, 4]'"))
    made = import_task(task, tmp_path / "problems")
    assert (made.trial.status, made.trial.score, made.trial.calls) == ("isolated", -0.75, 1)


def test_a_folder_of_llm4ad_next_may_have_any_name_and_its_links_are_left_out(tmp_path: Path) -> None:
    task = write_next(tmp_path / "weights", "local_path: weights_algorithm", "local_path: 'a[1]'")
    (task / "weights_algorithm").rename(task / "a[1]")
    (task / "data/instances/two.json").symlink_to("/etc/hostname")
    made = import_task(task, tmp_path / "problems")
    assert (made.trial.status, made.trial.calls) == ("isolated", 1)


@pytest.mark.parametrize(("timeout", "limit_s"), [("20.0", 20.0), (".inf", 60.0), (".nan", 60.0), ("-1", 60.0)])
def test_the_limit_of_a_file_with_data_is_finite(timeout: str, limit_s: float, tmp_path: Path) -> None:
    task = write_next(tmp_path / "weights", "timeout: 20.0", f"timeout: {timeout}")
    made = import_task(task, tmp_path / "problems", is_tried=False)
    assert load_problem(made.folder).about.timeout_s == limit_s


def test_packages_beside_a_task_of_llm4ad_next_are_copied_if_it_has_none_of_the_name(tmp_path: Path) -> None:
    task = write_next(tmp_path / "weights")
    evaluator = task / "weights_evaluator.py"
    evaluator.write_text(f"from _shared.more import MORE\nimport _own\n{evaluator.read_text()}")
    for folder, text in ((tmp_path / "_shared", "1"), (tmp_path / "_own", "2"), (task / "_own", "3")):
        folder.mkdir()
        (folder / "more.py").write_text(f"MORE = {text}\n")
    copy = import_task(task, tmp_path / "problems", is_tried=False).folder / "task"
    assert (copy / "_shared/more.py").read_text() == "MORE = 1\n"
    assert (copy / "_own/more.py").read_text() == "MORE = 3\n"
