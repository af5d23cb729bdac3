"""Evaluations: exact figures by rules, four designs by a stand-in, killed and gone on with."""

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, ModelError
from oragent.cli.app import app
from oragent.evals.bench.plan import BenchCell
from oragent.llm.model import Reply, Request
from oragent.llm.model_settings import RuntimeWords
from oragent_benchmarks.converse.benchmark import ConverseBenchmark
from oragent_benchmarks.converse.command import MANIFEST, ConverseBenchRequest, run_bench
from oragent_benchmarks.converse.evaluable_problems import standing_in
from oragent_benchmarks.converse.paradigms import list_contestants
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.tables import contestant_table, contrast_table, measure_contestants, paradigm_table
from tests.llm.chat_server import ChatServer

PROBLEM = sfusd()


def bench(*words: str) -> str:
    done = CliRunner().invoke(app, ["bench", "converse", *words])
    assert done.exit_code == 0, f"{done.output} {done.exception}"
    return done.output


def reopened(folder: Path) -> ConverseBenchmark:
    return ConverseBenchmark(MANIFEST.read_plan(folder), folder=folder)


@pytest.mark.slow
def test_rules_by_the_command_come_to_the_exact_figures(tmp_path: Path, published: Path) -> None:
    out = tmp_path / "out"
    options = ["--agents", "rules", "--utilities", str(published), "--outputs", str(out)]
    said = bench("--decider", "myopic", "--paradigms", "default,one-shot,aware,conversation", *options)
    for line in ("0.6014 / 12.42 %", "0.6288 / 11.80 %", "0.9793 / 79.50 %, 128 of 161, 248 requests"):
        assert line in said
    assert "no schedule reaches load 1900" in said  # three utilities of the file
    found = measure_contestants(reopened(out))
    assert [row[0] for row in contestant_table(found).rows] == [
        "default",
        "rules one-shot",
        "rules aware",
        "rules conversation",
    ]
    assert len(paradigm_table(found).rows[0]) == 9
    assert len(contrast_table(found).rows) == 3
    page = (out / "report.html").read_text()
    assert "transcripts/04-0000.html" in page
    assert "left at 0" in (out / "transcripts").joinpath("04-0000.html").read_text() or page.count("<svg") >= 3


@pytest.mark.slow
def test_rules_of_all_paradigms_with_page_and_transcripts(tmp_path: Path, few: str) -> None:
    out = tmp_path / "out"
    options = ["--agents", "rules", "--utilities", few, "--outputs", str(out), "--decider", "rational"]
    said = bench("--paradigms", "default,one-shot,aware,conversation", *options)
    assert "1.0000 / 100.00 %, 2 of 2" in said
    found = measure_contestants(reopened(out))
    assert [row[0] for row in contestant_table(found).rows] == [
        "default",
        "rules one-shot",
        "rules aware",
        "rules conversation",
    ]
    assert len(paradigm_table(found).rows[0]) == 9
    assert len(contrast_table(found).rows) == 3
    page = (out / "report.html").read_text()
    assert "transcripts/04-0000.html" in page
    assert page.count("<svg") >= 3
    transcript = (out / "transcripts" / "04-0000.html").read_text()
    assert "weights of time, load and deviation: 0.252, 0.332, 0.416" in transcript
    assert "fix Ortega (Jose) PK" in transcript
    assert bench("--paradigms", "default,one-shot,aware,conversation", *options).count("complete before") == 4


class Dying:
    """The stand-in, until its server dies."""

    def __init__(self, lives: int) -> None:
        self._model, self.lives, self.asked = standing_in(sfusd()), lives, []

    async def __call__(self, request: Request, /) -> Reply:
        if self.lives == 0:
            raise ModelError("the server is gone")
        self.lives -= 1
        self.asked.append((request.key, request.digest))
        return await self._model(request)


def plan_of(folder: Path, *words: str) -> None:
    """Begin an evaluation with the stand-in and a budget of one call, so that its plan and utilities are there."""
    CliRunner().invoke(
        app, ["bench", "converse", "--model", "scripted", "--calls", "1", "--outputs", str(folder), *words]
    )


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_and_asks_nothing_twice(tmp_path: Path, few: str) -> None:
    plan_of(tmp_path / "a", "--agents", "T-P-P", "--utilities", few, "--workers", "1", "--feedback", "rich")
    one, cell = reopened(tmp_path / "a"), BenchCell("sfusd", "T-P-P conversation, scripted", 0)
    first = Dying(30)
    one.stand_in, one.workers = first, 2
    assert "the server is gone" in one.run(cell, one.folder).reason
    assert not one.is_complete(cell, one.folder)
    second = Dying(10_000)
    again = reopened(tmp_path / "a")
    again.stand_in = second
    assert again.run(cell, again.folder).reason == ""
    assert again.is_complete(cell, again.folder)
    assert not {*first.asked} & {*second.asked}
    whole = reopened(tmp_path / "a")
    plan_of(tmp_path / "b", "--agents", "T-P-P", "--utilities", few, "--feedback", "rich")
    other = reopened(tmp_path / "b")
    other.workers, other.stand_in = 8, Dying(10_000)
    other.run(cell, other.folder)
    results = [
        [dict(done.result, seconds=0) for done in each.finished_cases(cell, each.folder)] for each in (whole, other)
    ]
    assert json.dumps(results[0]) == json.dumps(results[1])  # whatever the workers
    plan_of(tmp_path / "c", "--agents", "T-P-P", "--utilities", few, "--feedback", "rich")
    third = reopened(tmp_path / "c")
    (third.cell_folder(cell, third.folder) / "run.db").unlink()
    third.replay = tmp_path / "b"
    assert third.run(cell, third.folder).reason == ""
    replayed = [dict(done.result, seconds=0) for done in third.finished_cases(cell, third.folder)]
    assert json.dumps(replayed) == json.dumps(results[1])


@pytest.mark.slow
def test_four_designs_by_a_stand_in_and_all_tables(tmp_path: Path, few: str) -> None:
    options = ["--model", "scripted", "--utilities", few, "--outputs", str(tmp_path / "out")]
    said = bench("--agents", "T-P-P,C-P-P,C-P-R,C-N-R", "--paradigms", "one-shot,aware,conversation", *options)
    assert "12 of 12" in said
    found = measure_contestants(reopened(tmp_path / "out"))
    assert all(len(one.cases) == one.total == 8 for one in found)
    assert all(not done.result["audit"]["leaks"] for one in found for done in one.cases)
    page = (tmp_path / "out" / "report.html").read_text()
    for title in ("Paradigms", "Agents by style and feedback", "Models", "One-sided tests", "Ends", "Audit", "By role"):
        assert f"<h2>{title}</h2>" in page


def test_the_agent_is_never_told_a_number_of_a_utility(tmp_path: Path, few: str) -> None:
    plan_of(tmp_path / "a", "--agents", "T-P-P", "--utilities", few, "--feedback", "rich")
    one, cell = reopened(tmp_path / "a"), BenchCell("sfusd", "T-P-P conversation, scripted", 0)
    told: list[Request] = []
    model = standing_in(sfusd())

    async def listening(request: Request) -> Reply:
        told.append(request)
        return await model(request)

    one.stand_in = listening
    one.run(cell, one.folder)
    weights = [f"{weight:.3f}" for weight in one.stakeholders[0].utility.weights]
    for request in told:
        if request.role == "agent":
            assert not any(weight in request.prompt for weight in weights)
            assert "check_utility" not in request.prompt
        else:
            assert "max_students_per_time" not in request.prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agents", "T-P-X", "--models", "m"], "'T-P-X' is no agent"),
        (["--agents", "T-P-P"], "no model is named"),
        (["--agents", "rules"], "the decision agent needs a model"),
        (["--decider", "fair", "--agents", "rules"], "'fair' is no decider; expected one of llm"),
        (["--decider", "rational", "--paradigms", "talk"], "'talk' is no paradigm"),
        (["--decider", "rational", "--styles", "loud"], "'loud' is no style"),
        (["--decider", "rational", "--stopping", "never"], "'never' is no way of stopping"),
        (["--decider", "rational", "--utilities", "0"], "0 utilities: expected 1 or more"),
        (["--decider", "rational", "--utilities", "nowhere"], "unknown utilities 'nowhere'"),
        (["--decider", "rational", "--problem", "district:50:3"], "whose schedules can be enumerated"),
        (["--decider", "rational", "--tools", "many"], "'many' is no set of tools"),
        (["--models", "m", "--agents", "T-P-P", "--ablate", "prompt.all"], "is no part to leave out"),
        (["--decider", "rational", "--preset", "mine"], "'mine' is not a preset"),
    ],
)
def test_a_wrong_word_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["bench", "converse", *words, "--outputs", str(tmp_path / "out")])
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_contestants_are_named_by_what_is_special() -> None:
    found = list_contestants(
        ["T-P-P", "rules"], ["default", "aware"], ["m"], ["paper", "extended"], ["prompt.dialogue"]
    )
    assert list(found) == [
        "default", "T-P-P aware, m", "T-P-P aware, m, without dialogue", "T-P-P aware, m, extended tools",
        "T-P-P aware, m, extended tools, without dialogue", "rules aware",
    ]  # fmt: skip
    with pytest.raises(ConfigError):
        list_contestants(["T-P-P"], ["aware"], [])


@pytest.mark.slow
@pytest.mark.parametrize("count", ["0", "9999"])
def test_a_wrong_number_of_utilities_leaves_the_folder_free_for_the_next_try(tmp_path: Path, count: str) -> None:
    request = ConverseBenchRequest(tmp_path / "out", "sfusd", utilities=count, settings={"decider": "rational"})
    with pytest.raises(ConfigError, match="utilities"):
        run_bench(request, Console(quiet=True))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_checks_of_servers_are_booked_and_models_take_settings_as_words(tmp_path: Path) -> None:
    with ChatServer() as server:
        words = RuntimeWords((f"model.base_url={server.url}", "model.temperature=0.25", "budget.model_calls=3"))
        request = ConverseBenchRequest(
            tmp_path, "sfusd", ["T-P-P"], ["one-shot"], ["served"], utilities="2", settings={"decider": "rational"},
            words=words,
        )  # fmt: skip
        run_bench(request, Console(file=io.StringIO(), width=80))
        asked = [body.get("temperature") for body in server.requests]
    (database,) = tmp_path.rglob("run.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM replies ORDER BY key")]
    checks = [key for key in keys if key.startswith("check.")]
    assert checks
    assert len(keys) == len(server.requests) == 3  # the checks count towards the budget
    assert asked[-1] == 0.25


@pytest.mark.slow
def test_a_word_cannot_rename_contestants(tmp_path: Path) -> None:
    request = ConverseBenchRequest(
        tmp_path / "out", "sfusd", settings={"decider": "rational"}, words=RuntimeWords(("model.name=other",))
    )
    with pytest.raises(ConfigError, match="--models"):
        run_bench(request, Console(file=io.StringIO()))
    assert not (tmp_path / "out").exists()
