"""``configs/or_agent_paper.yaml``: what a run by it does, step by step, beside the algorithm of the paper.

The transcript of 60 evaluations is golden, and docs/explanation/or-agent-as-published.md explains parts of it.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oragent.evaluation.problem import load_problem as load_problem
from oragent.llm.model import Reply, Request
from oragent.report import run_configuration
from oragent.report.run import replay_run
from oragent.search.candidate import NOWHERE
from oragent.search.config import read_config
from oragent.search.folder import RunFolder, make_folder
from oragent.search.store import Store
from tests.conftest import write_toy
from tests.search.players import golden, notes, replies, search

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "or-agent-as-published.md"
SALT = 5  # of a model whose 60 evaluations reach a second round from the elitist
SPOKEN = {"idea": "idea", "code": "code", "debug": "debug", "experiment": "experiment", "reflect": "report"}


class Scripted:
    """A model whose replies follow from the key of the call and from what the prompt holds, and from nothing else."""

    def __init__(self) -> None:
        self.prompts: dict[str, str] = {}
        self.temperatures: dict[str, set[float | None]] = defaultdict(set)

    async def __call__(self, request: Request) -> Reply:
        prompt = self.prompts[request.key] = request.messages[-1].content
        self.temperatures[request.role].add(request.temperature)
        text = self._text(request.role, prompt, random.Random(f"{SALT} {request.key}"))
        return Reply(text, model="scripted", tokens_in=10, tokens_out=10, money=None, seconds=0.0)

    def _text(self, role: str, prompt: str, drawn: random.Random) -> str:
        found = re.findall(r"^    return (-?\d+\.\d+)$", prompt, re.MULTILINE)
        value = float(found[-1]) if found else 6.0  # as the seed
        if role == "idea":
            wanted = re.search(r"exactly (\d+)", prompt)
            ideas = [{"title": f"idea {n}", "idea": f"Try {drawn.random():.6f}."} for n in range(int(wanted[1]))]
            return json.dumps(ideas)
        if role in ("lead", "reflect"):
            return f"Known since {drawn.random():.3f}."
        if role == "experiment" and "Experiments so far" in prompt:
            lesson = "LESSON: it moved.\n" if "LESSON" in prompt else ""
            first = "(none yet)" in prompt
            if drawn.random() < (0.86 if first else 0.7) and "which fails" not in prompt:
                return f"{lesson}ACTION: STOP"
            return f"{lesson}ACTION: EDIT\n{_program(value + drawn.uniform(-2, 3))}"
        if drawn.random() < {"code": 0.15, "debug": 0.6}.get(role, 0.0):
            return "```python\ndef guess(x):\n    return 1 / 0\n```"
        return _program(min(value + drawn.uniform(-7, 1.5), 99.0))


def _program(value: float) -> str:
    return f'```python\ndef guess(x):\n    """Nearer."""\n    return {value:.4f}\n```'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Scripted]:
    root = tmp_path_factory.mktemp("paper")
    toy = write_toy(root)
    config = read_config(
        ROOT / "configs" / "or_agent_paper.yaml", ["model.name=m", "budget.evaluations=60", "workers=1"]
    )
    folder, model = make_folder(root, root / "outputs", load_problem(toy), config), Scripted()
    assert search(folder, model, workers=1).complete
    return folder, model


def transcript(folder: RunFolder) -> Iterator[str]:
    """Rounds, their roots, the roles in their order, what came of each idea, and when the memory was rewritten."""
    roles: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for reply in sorted(replies(folder), key=lambda one: [int(part) for part in re.findall(r"\d+", one.key)]):
        number, _, rest = reply.key.partition(".")
        roles[int(number)][rest.rpartition("/")[0]].append(reply.role)
    with Store(folder.database, readonly=True) as store:
        records = store.records()
        spent = store.rounds()
    yield f"seed: scored {records[0].score:.4g}, on island 0"
    total = 1
    for number, tree in enumerate(notes(folder, "tree"), 1):
        kind = "opening" if number == 1 else "elitist round" if tree["elitist"] else "crossover round"
        yield f"round {number}: {kind}, root {' and '.join(tree['start'])}"
        own = roles[number][""]
        if own[0] == "lead":
            yield "  lead: memory rewritten at its beginning"
        for fork, (parent, children) in enumerate(_openings(tree)):
            where = "the root" if parent == 0 else f"idea {parent}"
            yield f"  idea: {len(children)} for {where}"
            for place, node in enumerate(children):
                spoken = ", ".join(SPOKEN.get(role, role) for role in roles[number][f"{fork}.{place}"])
                end = f"{node['score']:.4g}" if node["score"] is not None else node["failure"].partition(":")[0]
                better = "" if node["score"] is None else " better," if node["better"] else " not better,"
                yield f"    {node['number']}: {spoken or 'nothing left'} -> {end},{better} {node['state']}"
        if own[-1] == "lead" and tree["elitist"]:
            yield "  lead: memory rewritten at its end"
        homes = defaultdict(list)
        for record in records:
            if record.round == number and record.placed and record.candidate.island != NOWHERE:
                homes[record.candidate.island].append(record.id)
        total += spent[number].evaluations
        into = "; ".join(f"island {home}: {len(ids)}" for home, ids in sorted(homes.items()))
        yield f"  archive: {into or 'nothing'}; {total} evaluations"


def _openings(tree: dict[str, Any]) -> list[tuple[int, list[dict[str, Any]]]]:
    """The ideas of a tree by the leaf that they were asked for, in the order in which leaves were opened."""
    found: list[tuple[int, list[dict[str, Any]]]] = []
    for node in tree["nodes"][1:]:
        if not found or found[-1][0] != node["parent"]:
            found.append((node["parent"], []))
        found[-1][1].append(node)
    return found


@pytest.mark.slow
def test_sixty_evaluations_go_as_the_paper_has_them(run) -> None:
    folder, _ = run
    text = "\n".join(transcript(folder))
    golden("or_agent_paper", text)


def test_its_rounds_are_those_of_the_paper(run) -> None:
    folder, model = run
    trees = notes(folder, "tree")
    assert [number for number, tree in enumerate(trees, 1) if tree["elitist"]] == [
        1,
        2,
        13,
    ]  # 1 and 12 after the opening
    roots = [sum(node["parent"] == 0 for node in tree["nodes"]) for tree in trees]
    assert roots == [20, 5, *[1] * 10, 5]
    for number, tree in enumerate(trees, 1):
        for node in tree["nodes"][1:]:
            assert len(node["steps"]) <= (0 if number == 1 else 3)
            kept = node["state"] in ("open", "closed", "grown")
            assert kept == (node["score"] is not None and (node["parent"] == 0 or node["better"]))
            assert node["parent"] == 0 or number in (2, 13)  # crossover ends at depth 1
    assert model.temperatures["idea"] == {1.3}
    assert {role: set(values) for role, values in model.temperatures.items() if role != "idea"} == {
        role: {None} for role in ("code", "debug", "experiment", "reflect", "lead")
    }
    assert not any("An experiment has ended" in prompt for prompt in model.prompts.values())  # a step's in its reply


def test_its_memory_is_told_and_rewritten_in_elitist_rounds_alone(run) -> None:
    folder, model = run
    asked = {key: key.partition(".")[0] for key in model.prompts}
    leads = [asked[one.key] for one in replies(folder) if one.role == "lead"]
    assert leads == ["2", "13"]
    first, second = (model.prompts[one.key] for one in replies(folder) if one.role == "lead")
    assert first.count("\n- idea") == 15  # of round 2 alone: nothing was experimented on in the opening
    assert second.count("\n- idea") == 10  # of the crossover rounds 3 to 12
    for key, number in asked.items():
        told = "Known since" in model.prompts[key].partition("What is known so far:")[2][:40]
        assert not told or number == "13"
    assert any("Known since" in model.prompts[key] for key, number in asked.items() if number == "13")


def test_leaves_alone_are_left_to_the_island_of_the_root(run) -> None:
    folder, _ = run
    with Store(folder.database, readonly=True) as store:
        records = {record.id: record for record in store.records()}
        rounds = len(store.rounds())
    trees = notes(folder, "tree")
    found = run_configuration.read_about(folder.path / "config.yaml")
    for number, tree in enumerate(trees[1:12], 2):
        leaves = {node["candidate"] for node in tree["nodes"][1:] if node["state"] == "closed"}
        own = [record for record in records.values() if record.round == number]
        assert {record.id for record in own if record.candidate.island != NOWHERE} == leaves
        before = replay_run(found, [record for record in records.values() if record.round < number], number)
        (home,) = {records[leaf].candidate.island for leaf in leaves}
        there = {one.id for one in before.ranked(home)}
        assert set(tree["start"]) <= there  # both parents of one island, and its children stay there
    assert rounds == 14
    assert records["0.0"].placed
    assert "0.0" not in {one.id for island in (1, 2, 3) for one in before.ranked(island)}


def test_the_lines_on_the_page_that_explains_the_transcript_are_lines_of_it() -> None:
    golden_lines = (Path(__file__).parent / "golden" / "or_agent_paper.txt").read_text().splitlines()
    blocks = re.findall(r"^```\n((?:seed|round) .*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    shown = [line for block in blocks for line in block.splitlines() if line.strip() != "..."]
    assert len(shown) > 30
    remaining = iter(golden_lines)
    assert [line for line in shown if line not in remaining] == []  # in the order of the transcript
