"""Searches for candidates that are more than one Python function: bred, or written by a model, and kept like any."""

import shutil
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.evaluation.problem import evaluation_root, load_problem
from oragent.search.config import build_config
from oragent.search.folder import make_folder, reopen
from oragent.search.launch import launch
from oragent.search.store import Store

compiled = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler for C++ here")
ABOUT = (
    "title: t\ndescription: Come near 100.\nfunction: scale\ndirection: maximize\ntimeout_s: 60\nprimitives: [x * x]\n"
)
EVALUATOR = """
from oragent import harness

def evaluate(arguments, guest):
    found = MORE(guest(3.0))
    return harness.Result({"found": found}, None, -abs(100.0 - found))

if __name__ == "__main__":
    harness.run(evaluate, function="scale", sizes={"train": (1,), "val": (1,)}, ARGUMENTS)
"""
SCALE, SHIFT = "def scale(x):\n    return 2.0 * x\n", "def shift(x):\n    return x + 1.5\n"
BLOCK = f"import math\n\n\n# EVOLVE-BLOCK-START\n{SCALE}# EVOLVE-BLOCK-END\n\n\ndef fixed(x):\n    return math.pi\n"
CPP = "#include <cmath>\n\n// Come near 100.\ndouble scale(double x) {\n    return 2.5 * x;\n}\n"


def problem(folder: Path, kind: str):
    folder.mkdir()
    more, arguments, about = "float", "", ""
    files = {"heuristic.py": SCALE}
    if kind == "functions":
        files = {"heuristic.py": f"{SCALE}\n\n{SHIFT}"}
    elif kind == "files":
        files = {"heuristic.py": f"from rules import shift\n\n\n{SCALE}", "rules.py": SHIFT}
        about, arguments = "candidate: {files: [heuristic.py, rules.py]}\n", 'files=("rules.py",),'
    elif kind == "blocks":
        files = {"heuristic.py": BLOCK}
    elif kind == "cpp":
        files, about = {"heuristic.cpp": CPP}, "candidate: {language: cpp}\n"
    if kind in ("functions", "files"):
        about, arguments, more = f"{about}functions: [shift]\n", f'{arguments}functions=("shift",)', 'guest.of("shift")'
    files |= {"problem.yaml": ABOUT + about}
    files |= {"eval.py": EVALUATOR.replace("MORE", more).replace("ARGUMENTS", arguments)}
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_problem(folder)


def search(tmp_path: Path, kind: str, *settings: str):
    found = problem(tmp_path / kind, kind)
    config = build_config({}, ["workers=1", *settings], "test")
    folders = []

    def opening():
        folders.append(make_folder(evaluation_root(found), tmp_path / "outputs", found, config))
        return folders[-1]

    outcome = launch(config, evaluation_root(found), found, opening, lambda progress: None)
    with Store(folders[-1].database, readonly=True) as store:
        return outcome, folders[-1], store.records()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["functions", "files", "blocks"])
def test_candidates_of_more_than_one_function_are_bred(tmp_path: Path, kind: str) -> None:
    outcome, folder, records = search(tmp_path, kind, "strategy.name=gp", "budget.evaluations=25")
    assert outcome.progress.best.score > outcome.progress.seed.score
    assert folder.best.name == "best.py"
    scored = [record for record in records if record.score is not None]
    assert len(scored) > 12
    if kind == "files":
        assert all("# ---- file: rules.py ----" in record.source for record in records)
        assert len({record.source.partition("# ---- file")[2] for record in scored}) > 1
        assert len({record.source.partition("# ---- file")[0] for record in scored}) > 1
    elif kind == "functions":
        assert len({record.source.partition("def shift")[2] for record in scored}) > 1
    else:
        assert all(record.source.startswith("import math\n\n\n# EVOLVE-BLOCK-START\n") for record in records)
        assert all(record.source.endswith("def fixed(x):\n    return math.pi\n") for record in records)
    assert reopen(folder.path).problem.name == kind


@compiled
@pytest.mark.slow
def test_a_model_writes_cpp_and_breeding_says_that_it_does_not(tmp_path: Path) -> None:
    settings = ["strategy.name=funsearch", "model.name=scripted", "budget.evaluations=6", "strategy.window=1"]
    outcome, folder, records = search(tmp_path, "cpp", *settings)
    assert outcome.progress.best.score > outcome.progress.seed.score
    assert folder.best.read_text().startswith("// cpp: ")
    assert len([record for record in records if record.score is not None]) >= 4
    assert [file.name for file in folder.found_elites()][-1] == "best.cpp"
    shutil.rmtree(tmp_path / "cpp")
    with pytest.raises(ConfigError):
        search(tmp_path, "cpp", "strategy.name=gp")
