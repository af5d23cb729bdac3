"""Lines of operations on the model of a file: comments, results, and the scenarios beside the file."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import SolveLimits
from oragent.modelling.operations.command import SCENARIOS, read_lines, read_scenarios, run_lines
from oragent.modelling.operations.results import AnyResult
from tests.modelling.shops import fixed_shop


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the fixed shop."""
    write(fixed_shop(1).model(), tmp_path / "shop.json")
    return tmp_path / "shop.json"


def run(path: Path, *lines: str, scenario: str = "") -> tuple[list[AnyResult], str]:
    out = io.StringIO()
    console = Console(file=out, width=200)
    return run_lines(path, lines, SolveLimits(), console, scenario=scenario), out.getvalue()


def test_comments_and_empty_lines_are_left_out(path: Path) -> None:
    text = "# first\nneed += 1\n\n   # more\nkeep more\n  \nsolve\n"
    (path.parent / "lines.txt").write_text(text)
    results, printed = run(path, *read_lines(path.parent / "lines.txt"))
    assert [result.line for result in results] == ["need += 1", "keep more", "solve"]
    assert [result.id for result in results] == ["r1", "r2", "r3"]
    assert all(result.id in printed for result in results)
    assert "first" not in printed
    (path.parent / "lines.txt").write_bytes(b"solve \xff\n")
    with pytest.raises(ModellingError):
        read_lines(path.parent / "lines.txt")


def test_without_lines_the_model_is_described(path: Path) -> None:
    (result,), _ = run(path)
    assert result.kind == "describe"


def test_scenarios_are_written_if_they_change_even_if_a_later_line_fails(path: Path) -> None:
    file = path.with_name(path.name + SCENARIOS)
    run(path, "need += 1", "solve")
    assert not file.exists()
    assert read_scenarios(path) == {}
    with pytest.raises(ModellingError):
        run(path, "need += 1", "keep more", "nothing", "keep never")
    assert read_scenarios(path) == {"more": ["need += 1"]}
    file.write_text(file.read_text() + "\n")
    before = file.read_text()
    run(path, "tie += 1", "solve", scenario="more")
    assert file.read_text() == before
    (result,), _ = run(path, "describe", scenario="MORE")
    assert (result.scenario, result.scenarios) == ("more", ("base", "more"))
    with pytest.raises(ModellingError):
        run(path, "solve", scenario="none")
    run(path, "tie += 1", "keep both", scenario="more")
    assert read_scenarios(path) == {"more": ["need += 1"], "both": ["need += 1", "tie += 1"]}
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, file.name]
