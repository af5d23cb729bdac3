"""What a person reads of a run: programs as they are, steps against what was reached, nothing twice."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.terminal import Terminal
from oragent.report.run import load_run
from oragent.report.terminal import show_run

from . import runs
from .runs import Made

WIDE = "def f(x):\n    return " + " + ".join(f"some_long_name_{number} * x" for number in range(12)) + "\n"
SEED = Made("def f(x):\n    return x\n", 0.9, (0, 0), (), "seed")


def a_run(folder: Path, *made: Made) -> Path:
    runs.describe(folder, "maximize")
    runs.write(folder, [[SEED], *([one] for one in made)], direction="maximize")
    return folder


def said(folder: Path, **options: object) -> str:
    out = io.StringIO()
    show_run(load_run(folder), Terminal(file=out, **options))
    return out.getvalue()


@pytest.mark.parametrize("options", [{"width": 80}, {"width": 80, "force_terminal": True, "color_system": None}])
def test_a_program_is_never_wrapped_nor_cut(tmp_path: Path, options: dict[str, object]) -> None:
    folder = a_run(tmp_path, Made(f"{WIDE}{SEED.source}" * 3, 1.0))
    lines = said(folder, **options).splitlines()
    assert WIDE.splitlines()[1] in lines
    assert max(map(len, lines)) > 80


def test_a_program_that_was_piped_to_a_file_runs(tmp_path: Path) -> None:
    text = said(a_run(tmp_path, Made(WIDE, 1.0)), width=80)
    begun = text.index("def f(x)")
    compile(text[begun : text.index("\n\n", begun)], "shown.py", "exec")


def test_a_rewrite_is_printed_once(tmp_path: Path) -> None:
    body = "".join(f"    y_{number} = {number} * x\n" for number in range(8))
    text = said(a_run(tmp_path, Made(f"def f(x):\n{body}    return y_7\n", 1.0)), width=80)
    assert text.count("y_3") == 1
    assert "A rewrite: hardly a line of the seed heuristic is left." in text


def test_a_small_change_is_shown_against_the_seed(tmp_path: Path) -> None:
    long = "".join(f"A{number} = {number}\n" for number in range(9))
    runs.describe(tmp_path, "maximize")
    seed = Made(f"{long}{SEED.source}", 0.9, (0, 0), (), "seed")
    better = Made(seed.source.replace("return x", "return x + 1"), 1.0)
    runs.write(tmp_path, [[seed], [better]], direction="maximize")
    text = said(tmp_path, width=80)
    assert "-    return x\n+    return x + 1\n" in text


def test_the_plain_console_of_others_shows_it_too(tmp_path: Path) -> None:
    out = io.StringIO()
    show_run(load_run(a_run(tmp_path, Made(WIDE, 1.0))), Console(file=out, width=80))
    assert WIDE.splitlines()[1] in out.getvalue()
