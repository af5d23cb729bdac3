"""What README.md and docs/start.md show is what their commands give."""

import asyncio
import importlib.util
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from oragent.llm.model import Message, Request
from oragent.search.genetics.variation import breed_child
from oragent.search.strategies.scripted import make_player
from tests.formulate import pharmacy
from tests.llm.chat_server import Answer, ChatServer, calling, ok
from tests.workspace.bakery import DATA, PROGRAM, STORY

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/start.md")
BEGINNING = 14  # evaluations of the first command that the default tests repeat
SPEC = importlib.util.spec_from_file_location("first_run", ROOT / "docs" / "tools" / "first_run.py")
assert SPEC
assert SPEC.loader
first_run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(first_run)
RECORDED = json.loads(first_run.DATA.read_text())

SEARCHER = make_player(0, breed_child)


def commands(page: str) -> list[str]:
    """The lines of a page's code blocks that name no language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [re.sub(r" +#.*", "", line) for line in lines if line.strip()]


def searches(page: str) -> list[str]:
    """The commands of oragent that work anywhere, without a run that is there."""
    return [
        line for line in commands(page)
        if line.startswith("oragent ") and "RUN" not in line and line != f"oragent {first_run.COMMAND}"
    ]  # fmt: skip


NUMBERS = itertools.count()


def serve(body: dict[str, Any]) -> Answer:
    """A server whose model knows a pharmacy, a bakery and ants."""
    said = json.dumps(body["messages"])
    if "painkiller" in said:
        return ok(pharmacy.speaks(body["messages"]))
    if body.get("tools"):
        steps = (
            ("list_files", {}), ("write_file", {"path": "src/bakery.py", "text": PROGRAM}),
            ("run", {"path": "src/bakery.py"}), ("submit", {"path": "src/bakery.py"}),
        )  # fmt: skip
        answered = sum(message["role"] == "tool" for message in body["messages"])
        return calling(steps[min(answered, len(steps) - 1)])
    # The scripted model answers the same words alike, a real one does not: without the number a search can run in circles.
    *earlier, last = (Message(message["role"], message["content"]) for message in body["messages"])
    messages = (*earlier, replace(last, content=f"{last.content}\n\n({next(NUMBERS)})"))
    return ok(asyncio.run(SEARCHER(Request("repair", messages))).text)  # as a repair: it tells its role from the text


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return kept | {"COLUMNS": "120", "PYTHONPATH": str(ROOT)} | more


def run(line: str, folder: Path, variables: dict[str, str], *more: str) -> None:
    """Run a command of a page as a user does; there is no limit of time, as machines may be busy."""
    words = [sys.executable, "-m", *shlex.split(line), *more]
    process = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert process.returncode == 0, (line, process.stdout + process.stderr)


@pytest.mark.parametrize("page", first_run.PAGES)
def test_the_blocks_of_a_page_are_made_from_the_recorded_run(page: str) -> None:
    text = (ROOT / page).read_text()
    assert first_run.BLOCK.search(text)
    assert first_run.filled(text, first_run.blocks(RECORDED)) == text, "run python docs/tools/first_run.py --pages"


def test_the_picture_is_drawn_from_the_recorded_run() -> None:
    with Image.open(first_run.PICTURE) as picture:
        assert picture.info["Description"] == first_run.digest(RECORDED)


def shown_outputs(page: str) -> list[tuple[str, list[str]]]:
    """Commands of a page with lines of their output, but for the recorded run."""
    blocks = re.findall(r"^```text\n\$ (oragent .*)\n((?:.+\n)+)```$", (ROOT / page).read_text(), re.MULTILINE)
    return [(line, shown.splitlines()) for line, shown in blocks if line != f"oragent {first_run.COMMAND}"]


@pytest.mark.parametrize(("line", "shown"), shown_outputs("README.md"), ids=lambda value: value[:30])
def test_the_lines_below_a_command_are_what_it_prints(line: str, shown: list[str], tmp_path: Path) -> None:
    if "formulate" in line:
        pytest.importorskip("pulp")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    words = [sys.executable, "-m", *shlex.split(line)]
    variables = environment(COLUMNS="80", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True, env=variables)
    process = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    printed = iter(process.stdout.splitlines())
    assert len(shown) == 3
    for expected in shown:
        assert expected.rstrip() in (line.rstrip() for line in printed), expected


def test_the_bakery_of_the_readme_earns_what_enumeration_says() -> None:
    rye, wheat, spelt = np.ogrid[:81, :81, :81]
    profit = 2.4 * rye + 1.9 * wheat + 3.1 * spelt
    flour, oven = 0.6 * rye + 0.5 * wheat + 0.7 * spelt, 4 * rye + 3 * wheat + 6 * spelt

    def best(flour_there: float, oven_there: float) -> float:
        return float(np.max(np.where((flour <= flour_there + 1e-9) & (oven <= oven_there), profit, -np.inf)))

    text = (ROOT / "README.md").read_text()
    assert f"before {best(90, 600):g}, after {best(90, 660):g}, difference {best(90, 660) - best(90, 600):g}" in text
    (prices,) = re.findall(r"^flour +90 +(\S+) +(\S+)$", text, re.MULTILINE)
    rises = best(91, 600) - best(90, 600), best(89, 600) - best(90, 600)
    assert tuple(map(float, prices)) == pytest.approx(rises)


@pytest.mark.slow
def test_the_first_command_begins_as_the_pages_show_and_its_run_can_be_read(tmp_path: Path) -> None:
    again = first_run.search(tmp_path / "outputs", "--evaluations", str(BEGINNING))
    assert len(again["scores"]) >= BEGINNING
    assert again["scores"] == pytest.approx(RECORDED["scores"][: len(again["scores"])])
    improved = [line for line in RECORDED["printed"] if line.split()[0] in map(str, range(BEGINNING + 1))]
    assert again["printed"][:-2] == improved
    assert len(improved) > 3
    assert again["printed"][-2] == RECORDED["printed"][-2]
    assert again["val"]["seed"] == pytest.approx(RECORDED["val"]["seed"])
    (folder,) = (tmp_path / "outputs" / "cvrp_aco").iterdir()
    with_run = [line for line in commands("docs/start.md") if "RUN" in line]
    assert [line.split()[1] for line in with_run] == ["show", "report", "resume"]
    for line in with_run:
        run(
            line.replace("RUN", folder.name).replace("evaluations=120", f"evaluations={BEGINNING + 2}"),
            tmp_path,
            environment(),
        )


@pytest.mark.slow
def test_the_first_command_gives_what_the_pages_show(tmp_path: Path) -> None:
    again = first_run.search(tmp_path / "outputs")
    assert again["printed"] == RECORDED["printed"]
    assert again["difference"] == RECORDED["difference"]
    assert again["scores"] == pytest.approx(RECORDED["scores"])
    assert again["val"]["best"] == pytest.approx(RECORDED["val"]["best"])
    (folder,) = (tmp_path / "outputs" / "cvrp_aco").iterdir()
    for who in ("seed", "best"):
        assert first_run.held_out(folder)[who] == pytest.approx(RECORDED["test"][who])


@pytest.mark.slow
def test_the_commands_of_the_pages_work_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text(pharmacy.TEXT)
    (model,) = re.findall(
        r"^```text\n(Maximize.*?)^```$", (ROOT / "docs/start.md").read_text(), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "model.lp").write_text(model)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    with ChatServer(then=serve) as server:
        variables = environment(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
        lines = [re.sub(r"budget\.money=\d+", "budget.money=1", line) for page in PAGES for line in searches(page)]
        for line in dict.fromkeys(lines):  # a command that both pages show runs once
            if line.startswith("oragent workspace build"):
                (tmp_path / "bakery" / "docs" / "business_requirement.md").write_text(STORY)
                (tmp_path / "bakery" / "data" / "general_parameters.csv").write_text(DATA)
            # A server on this machine has no price, so that a bound of money alone is refused.
            bound = ["--evaluations", "6"] if "budget.money" in line else []
            run(line, tmp_path, variables, *bound)


def test_ci_runs_each_command_that_installs() -> None:
    passes = (ROOT / ".ci" / "passes.py").read_text()
    installing = [line for page in PAGES for line in commands(page) if not line.startswith("oragent ")]
    for target in (line.removeprefix("make ") for line in installing if line.startswith("make ")):
        assert f'"{target.strip()}"' in passes
    others = {line for line in installing if not line.startswith("make ")}
    assert others == {
        "pip install .", "pip install '.[models]'", "pip install '.[formulate]'", "pip install '.[formulate,workspace]'", "python3 -m venv oragent-env", ". oragent-env/bin/activate",
        "export OPENAI_API_KEY=...",
    }  # fmt: skip


@pytest.mark.slow
def test_the_python_block_runs_without_pandas(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert "evaluations=20" in block
    script = f"import sys\nsys.modules['pandas'] = None\n{block.replace('evaluations=20', 'evaluations=4')}"
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=600
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.rstrip().endswith("report.html")
