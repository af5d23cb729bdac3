"""Nothing outside of ``problems`` knows what a problem is about: a knapsack goes through a whole evaluation."""

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.errors import ConfigError
from oragent.cli.app import app
from oragent.llm.model import Message, Request, ToolCall
from oragent_benchmarks.converse.benchmark import ConverseBenchmark
from oragent_benchmarks.converse.command import MANIFEST, ConverseBenchRequest, run_bench
from oragent_benchmarks.converse.evaluable_problems import published_of, read_utility_file, stakeholders_of, standing_in
from oragent_benchmarks.converse.problems.formulated import FormulatedProblem
from oragent_benchmarks.converse.problems.schools import generate_district, sfusd
from oragent_benchmarks.converse.stakeholders import Published
from oragent_benchmarks.converse.talking_decider import Feedback, Persona, Style, Talking, decider_prompt
from tests.benchmarks.converse.test_documented import EXAMPLE
from tests.benchmarks.converse.worked import asker
from tests.sources import BENCHMARKS, PACKAGE, source

SCHOOLS = re.compile(
    r"school|sfusd|district|student|schedule|start[ _]?time|\bbus(es)?\b|\briders?\b|principal|\bparents? of a child|"
    r"ortega|balboa|galileo|everett",
    re.IGNORECASE,
)
ITEMS = {"tent": (4, 10), "stove": (3, 7), "rope": (2, 4), "book": (1, 1)}
VAGUE = Persona("the hiker who carries the pack", Style.VAGUE, Feedback.RICH)


def test_outside_of_problems_no_file_knows_schools() -> None:
    about_schools = {"problems", "people", "evaluable_problems.py"}
    files = [
        path
        for root in (PACKAGE / "converse", BENCHMARKS / "converse")
        for path in root.rglob("*")
        if path.suffix in (".py", ".txt", ".html") and path.parts[len(root.parts)] not in about_schools
    ]
    assert len(files) > 50
    hits = {str(path): hit[0] for path in files if (hit := SCHOOLS.search(path.read_text(encoding="utf-8")))}
    assert hits == {}


def test_outside_of_problems_nothing_of_one_problem_is_imported() -> None:
    home = BENCHMARKS / "converse"
    about_schools = {"problems", "people", "evaluable_problems.py"}
    taken = {module for path in home.rglob("*.py") if path.relative_to(home).parts[0] not in about_schools
             for module, _ in source(path).taken if "converse.problems" in module}  # fmt: skip
    assert {module.rpartition(".")[2] for module in taken} == {"registry", "reply_formats", "programs"}


def test_figures_in_print_stand_beside_the_ten_schools_alone() -> None:
    assert (published_of(sfusd()).utilities, published_of(sfusd()).conversations) == (109, 436)
    assert published_of(generate_district(3, 2)) == Published()


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the example leaves, run in a folder of its own."""
    folder, names = tmp_path_factory.mktemp("trip"), {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(EXAMPLE.read_text(encoding="utf-8"), str(EXAMPLE), "exec"), names)
    return names | {"out": folder / "outputs" / "hikers"}


def most(thing: str, kilograms: float, share: float) -> float:
    """The greatest utility of a hiker, by looking at every pack."""
    packs = [dict(zip(ITEMS, taken, strict=True)) for taken in product((0, 1), repeat=len(ITEMS))]
    loads = [(pack, sum(ITEMS[name][0] * taken for name, taken in pack.items())) for pack in packs]
    return max(share * pack[thing] + (1 - share) * (load <= kilograms) for pack, load in loads if load <= 8)


@pytest.mark.slow
def test_a_knapsack_goes_through_a_whole_evaluation(trip: dict[str, Any]) -> None:
    bench = ConverseBenchmark(MANIFEST.read_plan(trip["out"]), folder=trip["out"], given=trip["trip"])
    held = {
        cell.contestant: [one.result for one in bench.finished_cases(cell, bench.folder)] for cell in bench.plan.cells
    }
    assert [len(done) for done in held.values()] == [8, 8, 8]
    for one, result in zip(bench.stakeholders, held["rules conversation"], strict=True):
        assert (result["value"], result["success"]) == (pytest.approx(most(one.thing, one.kilograms, one.share)), True)
    for result in held["rules one-shot"]:
        thing = result["traits"]["thing"]
        assert result["turns"][0]["said"] == f"reset all; fix {thing} 1"
        assert thing in json.loads(result["best"])
    page = (trip["out"] / "report.html").read_text()
    assert "<h2>By thing</h2>" in page
    assert "no solution shown" in page
    assert "published" not in page.casefold()  # figures in print are of another problem
    assert not SCHOOLS.search(page)


def obeys(request: Request) -> str | Message:
    """An agent that knows the tools and does what it is told; what it is not told any more it removes."""
    place = max(number for number, one in enumerate(request.messages) if one.role == "user")
    told, since = request.messages[place].content, request.messages[place + 1 :]
    results = [one.content for one in since if one.role == "tool"]
    if len(results) == 0:
        calls = [ToolCall("a", "fix_variable", {"variable": found[1], "value": "1", "type": "fix"})
                 for found in re.finditer(r"(\w+) at 1\b", told)]  # fmt: skip
        calls += [ToolCall("b", "add_objective_upper_bound", {"objective": "weight", "value": float(found[1])})
                  for found in re.finditer(r"weight at most (\d+)", told)]  # fmt: skip
        if "weight" not in told:
            calls.append(ToolCall("c", "remove_constraint", {"name": "weight_upper_bound"}))
        return Message("assistant", "", tuple(calls))
    if not any(one.tool_calls and one.tool_calls[0].name == "call_solver" for one in since):
        return Message("assistant", "", (ToolCall("d", "call_solver", {}),))
    return results[-1]


def test_its_own_script_stands_in_for_models(trip: dict[str, Any], tmp_path: Path) -> None:
    problem = trip["trip"]
    known = problem.stakeholders()
    with pytest.raises(ConfigError):
        standing_in(problem)
    known.telling = replace(known.telling, script=obeys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "stakeholders", lambda: known, raising=False)
        patch.setattr("oragent_benchmarks.converse.command.write_page", lambda folder, *rest: folder)  # drawn before
        request = ConverseBenchRequest(
            tmp_path, problem, ["T-P-P"], models=["scripted"], utilities="3", settings={"decider": "rational"}
        )  # fmt: skip
        assert run_bench(request, Console(quiet=True)) == 0
        bench = ConverseBenchmark(MANIFEST.read_plan(tmp_path), folder=tmp_path, given=problem)
        (cell,) = bench.plan.cells
        found = [one.result for one in bench.finished_cases(cell, tmp_path)]
    assert [one["success"] for one in found] == [True] * 3
    assert {event["tool"] for one in found for turn in one["turns"] for event in turn["events"]} >= {"fix_variable"}


def test_who_plays_a_hiker_is_told_of_packs_alone(trip: dict[str, Any]) -> None:
    hiker = trip["Hiker"]("tent", 3, 0.6)
    for style in Style:
        text = decider_prompt(trip["trip"], hiker, replace(VAGUE, style=style))
        assert not SCHOOLS.search(text)
        assert "You are the hiker who carries the pack." in text
        assert "You want the tent" in text
        assert "$" not in text


def test_a_hiker_checks_the_pack_that_was_shown(trip: dict[str, Any]) -> None:
    problem, hiker = trip["trip"], trip["Hiker"]("tent", 3, 0.6)
    talking = Talking(asker([], []), problem, hiker, VAGUE)
    (tool,) = talking.tools
    assert "give the value of every variable by its name" in tool.description
    pack = problem.default
    call = ToolCall("c", "check_utility", {"values": problem.values(pack)})
    event = talking._answer_check(call, (pack,))
    assert event.result.startswith("worth 0.600 of at most 0.600: the most that can be had is reached")


def test_a_problem_without_stakeholders_and_a_strange_record_are_told_in_one_line(trip, tmp_path: Path) -> None:
    bare = FormulatedProblem(trip["trip"].base, goals=trip["trip"].expressions[:2])
    with pytest.raises(ConfigError):
        stakeholders_of(bare)
    path = tmp_path / "hikers.json"
    path.write_text('[{"thing": "tent", "colour": "red"}]')
    with pytest.raises(ConfigError, match="colour") as problem:
        read_utility_file(path, trip["trip"])
    assert "\n" not in str(problem.value)
    with pytest.raises(ConfigError):
        run_bench(
            ConverseBenchRequest(tmp_path / "out", trip["trip"], utilities="paper", settings={"decider": "rational"}),
            Console(),
        )


@pytest.mark.slow
def test_a_problem_file_is_named_on_the_command_line(tmp_path: Path) -> None:
    words = ["bench", "converse", "--outputs", str(tmp_path / "out")]
    terms = ["--problem", str(EXAMPLE), "--decider", "rational", "--paradigms", "one-shot"]
    first = CliRunner().invoke(app, [*words, *terms])
    assert first.exit_code == 0, first.output
    (tmp_path / "bad.py").write_text("1 / 0")
    refused = CliRunner().invoke(app, ["bench", "converse", "--problem", str(tmp_path / "bad.py")])
    assert isinstance(refused.exception, ConfigError)


@pytest.mark.slow
def test_a_new_problem_of_seventy_lines_is_measured_and_continued(tmp_path: Path) -> None:
    file = Path(__file__).with_name("canteen.py")
    assert len(file.read_text().splitlines()) <= 70
    words = ["bench", "converse", "--outputs", str(tmp_path / "out")]
    terms = ["--problem", str(file), "--decider", "rational", "--paradigms", "conversation"]
    first = CliRunner().invoke(app, [*words, *terms])
    assert first.exit_code == 0, first.output
    assert "100.00 % (10 of 10)" in first.output
    again = CliRunner().invoke(app, [*words, "--problem", str(file)])
    assert again.exit_code == 0, again.output
    assert "100.00 % (10 of 10)" in again.output
    for wrong in ([], ["--problem", str(EXAMPLE)]):
        refused = CliRunner().invoke(app, [*words, *wrong])
        assert isinstance(refused.exception, ConfigError)
        assert "\n" not in str(refused.exception)


@pytest.mark.slow
def test_outputs_alone_continue_an_evaluation(tmp_path: Path, few: str) -> None:
    words = ["bench", "converse", "--outputs", str(tmp_path / "out")]
    terms = ["--decider", "rational", "--paradigms", "one-shot", "--utilities", few]
    first = CliRunner().invoke(app, [*words, *terms])
    again = CliRunner().invoke(app, words)
    assert (first.exit_code, again.exit_code) == (0, 0), again.output
    assert "one-shot" in again.output
