"""The main program of a folder and its command lines, by pairs of programs that differ in one thing."""

from pathlib import Path

import pytest

from oragent.workspace import program_search
from oragent.workspace.program_search import find_commands, list_imports, rank_programs
from oragent.workspace.reading import list_files
from tests.workspace.release import put

MODEL = "import pulp\n"
SOLVES = f"{MODEL}p.solve()\n"
MAIN = 'if __name__ == "__main__":\n    pass\n'


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Tests and examples are last, whatever they do; so is a module without a main part or a solve.
        ({"z/deep/model.py": MODEL}, {"tests/a.py": SOLVES + MAIN}),
        ({"z/deep/model.py": MODEL}, {"examples/a.py": SOLVES + MAIN}),
        ({"z/deep/model.py": MODEL}, {"test_a.py": SOLVES + MAIN}),
        ({"z/deep/b.py": SOLVES}, {"a.py": MODEL}),
        ({"z/deep/b.py": MODEL + MAIN}, {"a.py": MODEL}),
        ({"z/deep/__main__.py": MODEL}, {"a.py": MODEL}),
        # A program that another one imports is a module.
        ({"z/deep/b.py": SOLVES + "import a\n"}, {"a.py": SOLVES + MAIN}),
        ({"z/deep/b.py": SOLVES}, {"a.py": MODEL + MAIN}),
        ({"z/deep/b.py": SOLVES + MAIN}, {"a.py": SOLVES}),
        # A main program that another one imports is before those that only state a model, or only solve one.
        ({"z/b.py": SOLVES + MAIN}, {"c.py": "import b\n", "q.py": MODEL}),
        ({"z/b.py": SOLVES + MAIN}, {"c.py": "import b\np.solve()\n"}),
        ({"b.py": SOLVES}, {"a/a.py": SOLVES}),
        # A test that imports a program does not make it a module.
        ({"b.py": SOLVES}, {"z/deep/c.py": SOLVES, "tests/t.py": "import b\n"}),
        ({"a.py": SOLVES}, {"b.py": SOLVES}),
    ],
)
def test_the_likelier_main_program_comes_first(tmp_path: Path, first: dict[str, str], second: dict[str, str]) -> None:
    files = second | first
    put(tmp_path, files)
    assert rank_programs({path: tmp_path / path for path in files}) == [*first, *second]


@pytest.mark.parametrize(
    ("files", "programs"),
    [
        # A program uses a library by a module of the folder, over several steps.
        ({"a.py": "import b\n", "b.py": "from pack import c\n", "pack/c.py": MODEL, "d.py": "import csv\n"}, {"a.py", "b.py", "pack/c.py"}),
        ({"src/a.py": "from pack.core import x\n", "src/pack/core/__init__.py": MODEL}, {"src/a.py", "src/pack/core/__init__.py"}),
        ({"a.py": "import scipy\n"}, set()),
        ({"a.py": "from scipy import optimize\n"}, {"a.py"}),
        ({"a.py": "import pulpit\n"}, set()),
        ({"a.py": "import ortools.sat.python\n"}, {"a.py"}),
        # A circle ends.
        ({"a.py": "import b\n", "b.py": "import a\n"}, set()),
    ],
)  # fmt: skip
def test_programs_are_those_that_reach_a_library(tmp_path: Path, files: dict[str, str], programs: set[str]) -> None:
    put(tmp_path, files)
    assert set(rank_programs({path: tmp_path / path for path in files})) == programs


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a, b as c\n", {"a", "b"}),
        ("import a.b\n", {"a.b"}),
        ("from a.b import c as d, e\n", {"a.b", "a.b.c", "a.b.e"}),
        ("from . import x\n", {"top.pack", "top.pack.x"}),
        ("from .x import y\n", {"top.pack.x", "top.pack.x.y"}),
        ("from .. import y\n", {"top", "top.y"}),
        ("from a import (b,\n c,\n)\n", {"a", "a.b", "a.c"}),
        ("important = 1\nx.import_a\n", set()),
    ],
)
def test_imports_name_modules(text: str, names: set[str]) -> None:
    assert list_imports(text, "top/pack/main.py") == names


@pytest.mark.parametrize(
    ("name", "text", "commands"),
    [
        ("run.sh", "python plan.py --fast\npython3.11 -u plan.py 7 | tee out\n", ["python plan.py --fast", "python3.11 -u plan.py 7"]),
        ("Makefile", "plan:\n\t$(PYTHON) plan.py --week 1 > out.txt\n", ["python plan.py --week 1"]),
        ("README.md", "Type python plan.py 1.\n\n```\npython plan.py 2\n```\nor `python -m plan 3`\n", ["python plan.py 2", "python -m plan 3"]),
        ("notes.rst", "text\n\n    $ python plan.py \\\n      --long\n", ["python plan.py --long"]),
        ("Makefile", "plan:\n\t$(PYTHON) plan.py $(WEEK)\n", []),
        # A variable of the shell, a program that does not exist, and one outside of the folder are no commands.
        ("run.sh", "python plan.py $1\npython none.py\npython ../plan.py\npython plan.py a\n", ["python plan.py a"]),
        ("run.sh", "WEEK=2 python plan.py\ncd . && python plan.py\npython plan.py\npython plan.py\n", None),
        ("plan.log", "python plan.py\n", []),
    ],
)  # fmt: skip
def test_command_lines_are_read_from_scripts_and_code(
    tmp_path: Path, name: str, text: str, commands: list[str] | None
) -> None:
    put(tmp_path, {"plan.py": SOLVES, name: text})
    found = find_commands(tmp_path, list_files(tmp_path, hidden=False))
    assert set(found.values()) <= {"plan.py"}
    if commands is None:
        assert len(found) == len(set(found)) >= 2
    else:
        assert list(found) == commands


def test_the_number_of_command_lines_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_search, "MAX_COMMANDS", 3)
    put(tmp_path, {"plan.py": SOLVES, "run.sh": "".join(f"python plan.py {at}\n" for at in range(9))})
    assert list(find_commands(tmp_path, list_files(tmp_path, hidden=False))) == [
        f"python plan.py {at}" for at in range(3)
    ]
