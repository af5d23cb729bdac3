"""A person's conversation: its folder, its page, and how it goes on."""

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, OragentError, ProblemError, StoreError
from oragent.cli.app import app
from oragent.converse.session import ConversationRequest, ConversationSession, begin, read_request
from oragent.llm.model_settings import build_runtime
from oragent.milp import Milp, Objective, Relation, Row, Sense, Variable, files


def talked(where: Path, what: str, *lines: str) -> str:
    done = CliRunner().invoke(app, ["converse", what, "--outputs", str(where)], input="\n".join(lines) + "\n")
    assert done.exit_code == 0, done.output
    return done.output


def folder(where: Path) -> Path:
    (found,) = where.glob("*/*")
    return found


def test_a_conversation_goes_on_where_it_was_left(tmp_path: Path) -> None:
    first = talked(tmp_path, "sfusd", "fix Ortega 7:50", "deviation <= 12")
    assert "CACAABABBC, load 2,453, deviation 19.5" in first
    second = talked(tmp_path, str(folder(tmp_path)), "undo", "fix Ortega 8:40", "quit")
    assert "CACAABABBC, load 2,453, deviation 19.5" in second  # gone through again
    assert "CBCABAABBC, load 2,565, deviation 11.5" in second
    names = sorted(path.name for path in folder(tmp_path).iterdir())
    assert names == ["converse.json", "report.html", "run.db", "states", "transcript.md"]
    states = sorted((folder(tmp_path) / "states").glob("*.milp.json"))
    assert len(states) == 4
    assert "fix Ortega (Jose) PK at 8:40 AM" in [row.name for row in files.read(states[-1]).rows]
    kept = json.loads((folder(tmp_path) / "states" / "001.json").read_text())
    assert kept["presented"] == ["CACAABABBC"]
    page = (folder(tmp_path) / "report.html").read_text()
    assert "deviation &lt;= 12" in page
    assert "<svg" in page


@pytest.mark.parametrize("entry", ["states", "states/002.json", "states/002.milp.json", "transcript.md", "report.html"])
def test_a_conversation_with_a_link_is_refused_and_what_it_leads_to_stays(entry: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("precious")
    model = tmp_path / "milp.json"
    files.write(KNAPSACK, model)
    talked(tmp_path / "out", str(tmp_path), "fix rope 1")
    link = folder(tmp_path / "out") / entry
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(outside if entry == "states" else outside / "victim")
    words = ["converse", str(folder(tmp_path / "out"))]
    done = CliRunner().invoke(app, words, input="weight <= 6\nquit\n")
    assert "is a link" in str(done.exception)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("victim", "precious")]


def test_a_report_is_written_again_without_asking(tmp_path: Path) -> None:
    talked(tmp_path, "sfusd", "fix Ortega 7:50")
    (folder(tmp_path) / "report.html").unlink()
    done = CliRunner().invoke(app, ["report", str(folder(tmp_path))])
    assert done.exit_code == 0, done.output
    assert "CACAABABBC" in (folder(tmp_path) / "report.html").read_text()


KNAPSACK = Milp(
    (Variable("tent", 0, 1, "integer", meaning="<b>shelter</b>"), Variable("stove", 0, 1, "integer"), Variable("rope", 0, 3, "integer")),
    (Row("weight", {"tent": 4, "stove": 3, "rope": 2}, Relation.AT_MOST, 9, "what we can carry"),),
    Objective({"tent": 10, "stove": 7, "rope": 4}, unit="points"), Sense.MAXIMIZE, "trip",
)  # fmt: skip


def test_a_formulated_model_is_discussed_and_copied(tmp_path: Path) -> None:
    model = tmp_path / "milp.json"
    files.write(KNAPSACK, model)
    said = talked(tmp_path / "out", str(tmp_path), "fix rope 1", "weight <= 6", "objective >= 15", "lowest weight")
    assert "objective 21 points" in said or "objective 21" in said
    assert (
        "infeasible: weight <= 6 and objective >= 15 clash; the least possible weight is 9; the most possible objective is 14"
        in " ".join(said.split())
    )
    model.unlink()
    assert "the least possible" in talked(tmp_path / "out", str(folder(tmp_path / "out")), "why")
    page = (folder(tmp_path / "out") / "report.html").read_text()
    assert "<b>shelter" not in page


def test_the_model_of_a_message_keeps_name_unit_and_direction_of_the_objective(tmp_path: Path) -> None:
    own = replace(KNAPSACK, objective=replace(KNAPSACK.objective, name="worth"))
    files.write(own, tmp_path / "milp.json")
    talked(tmp_path / "out", str(tmp_path), "set worth rope 5", "weight <= 8")
    first, second = (files.read(path) for path in sorted(folder(tmp_path / "out").glob("states/*.milp.json")))
    assert first == replace(own, objective=replace(own.objective, terms={"tent": 10, "stove": 7, "rope": 5}))
    assert (second.objective, second.sense) == (first.objective, first.sense)
    assert second.rows[-1].name == "weight_upper_bound"


def test_a_model_without_a_decision_is_one_line(tmp_path: Path) -> None:
    clash = Row("too much", {"tent": 1}, Relation.AT_LEAST, 2)
    files.write(
        Milp(KNAPSACK.variables, (*KNAPSACK.rows, clash), KNAPSACK.objective, KNAPSACK.sense), tmp_path / "m.json"
    )
    with pytest.raises(OragentError, match=r"is infeasible; 'oragent solve --explain' says why"):
        ConversationSession(begin(tmp_path / "out", ConversationRequest(str(tmp_path / "m.json")))).problem.default  # noqa: B018


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (ConversationRequest("sfusd", "T-P-X"), ConfigError, "'T-P-X' is no agent; did you mean"),
        (ConversationRequest("sfusd", "T-P-P"), ConfigError, "nobody is asked as T-P-P: name a model"),
        (ConversationRequest("sfusd", tools="all"), ConfigError, "is no set of tools"),
        (ConversationRequest("nowhere.json"), ProblemError, "no decision problem 'nowhere.json': expected sfusd"),
        (ConversationRequest("district:1"), ConfigError, "is no district: expected district:SCHOOLS:TIMES"),
        (ConversationRequest("district:1:3"), ConfigError, "expected 2 to 500 schools"),
        (ConversationRequest("district:9999:3"), ConfigError, "expected 2 to 500 schools"),
    ],
)
def test_what_cannot_begin_is_told_in_one_line(
    tmp_path: Path, request_: ConversationRequest, error, message: str
) -> None:
    with pytest.raises(error, match=message) as problem:
        begin(tmp_path, request_)
    assert "\n" not in str(problem.value)


def test_a_folder_without_a_conversation_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no conversation at"):
        read_request(tmp_path)
    (tmp_path / "converse.json").write_text("{")
    with pytest.raises(StoreError, match="is not what a conversation leaves"):
        read_request(tmp_path)
    with pytest.raises(ProblemError, match=r"no milp.json in it"):
        begin(tmp_path / "out", ConversationRequest(str(tmp_path)))


def test_utilities_are_written_by_the_command(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["converse", "utilities", "--out", str(tmp_path / "u.json"), "--functions", "50"])
    assert done.exit_code == 0, done.output
    assert "50 utilities" in done.output
    assert len(json.loads((tmp_path / "u.json").read_text())["utilities"]) == 50


def test_a_model_with_one_objective_offers_its_rows(tmp_path: Path) -> None:
    files.write(KNAPSACK, tmp_path / "milp.json")
    said = talked(tmp_path / "out", str(tmp_path), "quit")
    assert "one objective only, objective; bound a row to trade it off: weight <= ..." in said


def test_with_a_model_nothing_is_asked_twice_and_commands_act_directly(tmp_path: Path) -> None:
    from oragent.evals.converse.evaluable_problems import standing_in

    asked = []

    def model():
        script = standing_in(ConversationSession(folder).problem)

        async def listening(request):
            asked.append(request.digest)
            return await script(request)

        return listening

    folder = begin(tmp_path, ConversationRequest("sfusd", "T-P-P", runtime=build_runtime({"model": {"name": "m"}})))
    said = ["Please let Ortega (Jose) PK start at 7:50 AM.", "/undo", "Please let Balboa HS start at 9:30 AM."]

    def sitting(lines: list[str]) -> ConversationSession:
        session, left = ConversationSession(folder), iter(lines)

        async def listen(view):
            return next(left, None)

        asyncio.run(session.hold(listen, lambda turn, known: None, model()))
        return session

    first = sitting(said[:2])
    assert [turn.presented for turn in first.turns] == [("CACAABABBC",), ("CCCABAABBC",)]
    assert first.turns[1].state == {"weights": [1.0, 1.0], "restrictions": []}
    count = len(asked)
    second = sitting(said[2:])
    assert [turn.said for turn in second.turns] == said
    assert len(asked) == count + 3  # fix, solve, answer: of the new message alone
    assert "(The person changed the model directly: /undo" in "".join(
        one.content for one in second.agent.agent.messages
    )


def test_a_conversation_goes_on_while_its_model_cannot_be_asked(tmp_path: Path) -> None:
    """What was said is shown, commands act, other messages are not recorded, and a new conversation is refused."""
    from oragent.evals.converse.evaluable_problems import standing_in

    runtime = build_runtime({"model": {"name": "m", "command": "no-such-program-anywhere"}})
    folder = begin(tmp_path, ConversationRequest("sfusd", "T-P-P", runtime=runtime))
    messages = ["Please let Ortega (Jose) PK start at 7:50 AM.", "Now Balboa HS at 9:30 AM.", "/undo"]
    notices: list[str] = []

    def sitting(lines: list[str], model) -> ConversationSession:
        session, left = ConversationSession(folder), iter(lines)
        notices.clear()

        async def listen(view):
            notices.append(session.notice)
            return next(left, None)

        asyncio.run(session.hold(listen, lambda turn, known: None, model))
        return session

    with pytest.raises(OragentError, match="no program 'no-such-program-anywhere'"):
        sitting(messages[:1], None)
    sitting(messages[:1], standing_in(ConversationSession(folder).problem))
    second = sitting(messages[1:], None)
    assert [turn.said for turn in second.turns] == [messages[0], "/undo"]
    assert second.turns[0].presented == ("CACAABABBC",)
    assert second.turns[1].presented == ("CCCABAABBC",)
    assert "the model cannot be asked: model.command" in notices[0]
    assert notices[1].startswith("not sent, since the model cannot be asked")
    third = sitting([], standing_in(second.problem))
    assert [turn.said for turn in third.turns] == [messages[0], "/undo"]


def test_a_model_without_name_keeps_that_of_its_file_and_empty_columns_are_not_shown(tmp_path: Path) -> None:
    files.write(replace(KNAPSACK, name="", variables=tuple(replace(one, meaning="") for one in KNAPSACK.variables)),
                tmp_path / "alps.json")  # fmt: skip
    output = talked(tmp_path / "out", str(tmp_path / "alps.json"), "fix rope 1")
    assert "Variable  Value" in output
    assert "Meaning" not in output
    assert ConversationSession(folder(tmp_path / "out")).problem.name == "alps"
