"""Modules and methods with scripted replies and stand-ins of programs: what is asked, how often, and what is kept."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import ReplyError
from oragent.formulate import modules
from oragent.formulate import session as session_module
from oragent.formulate.appeals import Citation
from oragent.formulate.checks import Checked, CheckFinding, CheckStatus, Reason
from oragent.formulate.folder import FormulationRequest
from oragent.formulate.metamorphic_tests import Property, PropertyResult
from oragent.formulate.methods.ormind import ormind
from oragent.formulate.methods.revision import check_and_revise, find_appeal
from oragent.formulate.methods.two_calls import two_calls
from oragent.formulate.model_comparison import ModelComparison, Ruling
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText, ProgramInterface
from oragent.formulate.prompting import CommentPool, PoolEntry
from oragent.formulate.running import ExecutionResult, Report
from oragent.formulate.session import (
    FormulationAttempt,
    FormulationSession,
    best_attempt,
    empty_attempt,
    extract_facts,
)
from oragent.formulate.verify import GivenModel, verify_case
from oragent.llm.model import Message
from oragent.modelling.data.solution import Solution, SolveStatus, SolveVerdict
from oragent.modelling.solving.model_solving import solve
from tests.formulate.results import BAKERY, STORY

SOLVED = solve(BAKERY, duals=False)
RIGHT = ExecutionResult(None, milp=BAKERY, solution=SOLVED, values={"x": 3.0, "y": 6.0}, columns={"x": "x", "y": "y"})
BROKEN = ExecutionResult(SolveVerdict.RUNTIME_ERROR, "no name", "line 3")
AGREES = Report("", (("oven", 12.0, "<=", 12.0, ""),), ModelComparison(Ruling.AGREES, compared_aims=1))
FORBIDS = Report("", (), ModelComparison(Ruling.FORBIDS, "why", ("oven",), compared_aims=1))
VIOLATED = Report("", (("flour", 22.0, "<=", 21.0, "There are 21 kg of flour"),), ModelComparison(Ruling.AGREES))


class ScriptedCase:
    """Answers by role, the replies of a role in their order and the last one again; it records what was asked."""

    def __init__(self, replies: Mapping[str, str | Sequence[str]]) -> None:
        self.replies = {role: [text] if isinstance(text, str) else list(text) for role, text in replies.items()}
        self.used = Spent()
        self.roles: list[str] = []
        self.asked: list[Sequence[Message]] = []
        self.temperatures: list[float | None] = []

    async def ask(self, role: str, messages: Sequence[Message], temperature: float | None = None) -> SimpleNamespace:
        self.roles.append(role)
        self.asked.append(messages)
        self.temperatures.append(temperature)
        texts = self.replies[role]
        return SimpleNamespace(text=texts.pop(0) if len(texts) > 1 else texts[0], tokens_in=30, tokens_out=4)

    def prompts(self, role: str) -> list[str]:
        return [messages[0].content for name, messages in zip(self.roles, self.asked, strict=True) if name == role]


class NamedRunner:
    """Has a result for the name in each program, and a report for the name in each checker."""

    def __init__(self, **results: ExecutionResult | Report) -> None:
        self.results = {"right": RIGHT, "broken": BROKEN, "agrees": AGREES, "forbids": FORBIDS, **results}
        self.calls: list[tuple[str, Any]] = []

    def run_program(self, source: str, interface: ProgramInterface, data: Mapping[str, Any]) -> ExecutionResult:
        self.calls.append((name_of(source), dict(data)))
        result = self.results[name_of(source)]
        assert isinstance(result, ExecutionResult)
        return result

    def run_checker(
        self, source: str, ran: ExecutionResult, data: Mapping[str, Any], *, compares_rules: bool = False
    ) -> Report:
        self.calls.append((name_of(source), compares_rules))
        report = self.results[name_of(source)]
        assert isinstance(report, Report)
        return report


def name_of(source: str) -> str:
    match = re.search(r"return '(\w+)'", source)
    assert match is not None
    return match[1]


def program(name: str, comment: str = "") -> str:
    return f"```python\ndef solve(data):{comment and '  # '}{comment}\n    return '{name}'\n```"


def checker(name: str) -> str:
    return f"```python\ndef checks(values, data):\n    return '{name}'\n```"


def open_session(
    replies: Mapping[str, str | Sequence[str]], runner: NamedRunner | None = None, data: Any = None, **options: Any
) -> tuple[FormulationSession, ScriptedCase]:
    case = ScriptedCase(replies)
    problem = ProblemText("bakery", STORY, data or {})
    chosen = choose_options("default", **options)
    return FormulationSession(case, problem, chosen, runner or NamedRunner(), CommentPool()), case  # type: ignore[arg-type]


def attempt(
    name: str = "right", number: int = 0, checked: Checked | None = None, source: str = ""
) -> FormulationAttempt:
    results = {"right": RIGHT, "broken": BROKEN}
    return FormulationAttempt(
        number, "program", source or f"def solve(data):\n    return '{name}'\n", results[name], checked
    )


def finding(name: str, reason: Reason = Reason.FORBIDS) -> CheckFinding:
    return CheckFinding(reason, name, f"about {name}", sentence=STORY[:29])


def failed(*findings: CheckFinding) -> Checked:
    return Checked(CheckStatus.FAILED, findings, 3, 3)


def encoded(**values: object) -> str:
    return json.dumps({name: {"Type": "integer", "Kind": "scalar", "Value": value} for name, value in values.items()})


@pytest.mark.parametrize(
    ("replies", "calls", "value"),
    [
        ([encoded(flour=21)], 1, 21), ([encoded(flour=22), encoded(flour=21)], 2, 21), ([encoded(flour=22), encoded(flour=23)], 2, 23),
        # Each unusable reply is sent back once.
        (["what?", encoded(flour=21)], 2, 21), (["what?", "what?"], 2, None), ([encoded(flour=22), "what?", "what?"], 3, 22),
    ],
)  # fmt: skip
def test_a_figure_that_the_text_lacks_is_read_again_once(replies: list[str], calls: int, value: int | None) -> None:
    session, case = open_session({"semantic_encoder": replies})
    asyncio.run(modules.encode_parameters(session))
    assert len(case.asked) == calls
    assert session.data == ({} if value is None else {"flour": value})
    if "22" in replies[0]:
        # The second prompt has the figure that the text lacks.
        assert "22" not in case.asked[0][0].content
        assert "flour has 22" in case.asked[1][0].content
        assert case.asked[1][0].content.startswith(case.asked[0][0].content)


def test_a_figure_of_the_user_is_kept_and_given_data_are_compared() -> None:
    session, case = open_session({}, edits={"semantic_encoder": encoded(flour=22)})
    asyncio.run(modules.encode_parameters(session))
    assert (case.asked, session.data, session.pool[0].author) == ([], {"flour": 22}, "person")
    session, case = open_session({"semantic_encoder": encoded(flour=99)}, data={"flour": [21, 2]})
    asyncio.run(modules.encode_parameters(session))
    # Given data count, and their other form is said to the next modules.
    assert (len(case.asked), session.data) == (1, {"flour": [21, 2]})
    assert [(entry.module, entry.author) for entry in session.pool][-1] == ("data", "oragent")
    assert "flour" in session.pool[-1].text
    session, _ = open_session({"semantic_encoder": encoded(flour=21)}, data={"flour": 21})
    asyncio.run(modules.encode_parameters(session))
    assert [entry.module for entry in session.pool] == ["semantic_encoder"]


def readings(count: int) -> str:
    return json.dumps({"READINGS": [f"sentence {at} -- used {at} -- other {at}" for at in range(count)]})


def test_the_other_readings_of_two_sentences_are_solved() -> None:
    other = ExecutionResult(
        None, milp=BAKERY, solution=Solution(SolveStatus.OPTIMAL, objective=9.0, values={"x": 3.0, "y": 0.0})
    )
    session, case = open_session({"reading": [program("other"), "no program", "none again"]}, NamedRunner(other=other))
    session.pool.append(PoolEntry("formalization", "", json.loads(readings(3))))
    session.attempts.append(attempt())
    asyncio.run(modules.solve_readings(session))
    assert len(case.prompts("reading")) == 3
    assert all("return 'right'" in prompt for prompt in case.prompts("reading"))
    assert ["other 0" in prompt for prompt in case.prompts("reading")] == [True, False, False]
    first, second = session.readings
    assert first == {
        "sentence": "sentence 0", "used": "used 0", "other": "other 0", "status": "optimal", "aims": [9.0], "objective": 9.0, "changed": ["y"],
    }  # fmt: skip
    assert (second["sentence"], second["status"], second["aims"], second["objective"], second["changed"]) == (
        "sentence 1", "compile_error", [], None, None,
    )  # fmt: skip
    session.attempts[:], session.readings[:] = [attempt("broken")], []
    asyncio.run(modules.solve_readings(session))
    assert session.readings == []


TEAM = {"compiler": "writes", "reviewer": "reads", "formalization": "thinks"}


@pytest.mark.parametrize(
    ("reply", "consulted", "chosen"),
    [
        ("The Reviewer, then the compiler.", [], "reviewer"), ("compiler", ["compiler"], "reviewer"), ("nobody", [], "compiler"),
        ("nobody", ["compiler", "reviewer"], "formalization"), ("compiler reviewer", ["compiler"], "reviewer"),
    ],
)  # fmt: skip
def test_the_next_module_is_the_first_that_is_named_and_left(reply: str, consulted: list[str], chosen: str) -> None:
    session, case = open_session({"conductor": reply})
    assert asyncio.run(modules.choose_module(session, TEAM, consulted, 7)) == chosen
    (prompt,) = case.prompts("conductor")
    assert all(f"- {name}: {what}" in prompt for name, what in TEAM.items())
    assert ", ".join(name for name in TEAM if name not in consulted) in prompt
    assert (", ".join(consulted) or "nobody") in prompt
    assert "7 more" in prompt


def test_a_first_program_is_run_with_its_facts_and_may_be_missing() -> None:
    session, case = open_session({"program": f"```json\n{readings(1)}\n```\n{program('right')}"}, data={"flour": 21})
    ran = asyncio.run(modules.write_first_program(session))
    assert (ran.number, ran.origin, ran.ran) == (0, "program", RIGHT)
    assert session.runner.calls == [("right", {"flour": 21})]  # type: ignore[attr-defined]
    assert [entry.module for entry in session.pool] == ["program", "formalization"]
    assert session.pool.parsed_of("formalization") == json.loads(readings(1))
    # Facts without an object are none.
    session, case = open_session({"program": f"```json\n[1]\n```\n{program('right')}"})
    asyncio.run(modules.write_first_program(session))
    assert [entry.module for entry in session.pool] == ["program"]
    session, case = open_session({"program": "I cannot."})
    missing = asyncio.run(modules.write_first_program(session))
    assert (missing.number, missing.source, missing.ran.verdict) == (0, "", SolveVerdict.COMPILE_ERROR)
    assert missing.ran.message
    assert len(case.asked) == 2


@pytest.mark.parametrize("clarification", ["Pills are whole.", ""])
def test_a_clarification_of_the_user_is_part_of_the_text(clarification: str) -> None:
    session, case = open_session({"program": [f"{readings(1)}\n{program('broken')}", program("right")]})
    seen: list[object] = []

    def ask_person(facts: Mapping[str, Any]) -> str:
        seen.append(facts)
        return clarification

    session.ask_person = ask_person
    ran = asyncio.run(modules.write_first_program(session))
    assert len(seen) == 1
    assert ran.ran is (RIGHT if clarification else BROKEN)
    assert len(session.attempts) == 1
    assert [clarification in prompt for prompt in case.prompts("program")] == (
        [False, True] if clarification else [True]
    )
    assert session.problem.text == (f"{STORY}\n\nClarification: {clarification}" if clarification else STORY)
    assert [entry.author for entry in session.pool if entry.module == "clarification"] == ["person"] * bool(
        clarification
    )


@pytest.mark.parametrize("status", [None, SolveStatus.INFEASIBLE, SolveStatus.FEASIBLE])
def test_a_plan_is_reviewed_if_there_is_one(status: SolveStatus | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MAX_PLAN", 40)
    solution = None if status is None else Solution(status, objective=17.5)
    ran = ExecutionResult(None, milp=BAKERY, solution=solution, values={"Köln": 3.0, "z": "z" * 99})
    session, case = open_session({"review": '["odd"]'})
    asyncio.run(modules.review_plan(session, FormulationAttempt(0, "program", "", ran)))
    assert len(case.asked) == (status is SolveStatus.FEASIBLE)
    for prompt in case.prompts("review"):
        assert "Köln" in prompt
        assert "17.5" in prompt
        assert len(re.findall("z+", prompt.partition('"z": "')[2])[0]) == 40 - len('{"Köln": 3.0, "z": "')


@pytest.mark.parametrize(
    ("attempts", "is_unchanged"),
    [
        ([attempt("broken")], False), ([attempt("broken"), attempt("broken", 1)], True), ([attempt("right"), attempt("right", 1)], False),
        ([attempt("right"), attempt("broken", 1)], False), ([attempt("broken"), attempt("right"), attempt("broken", 2)], False),
        ([attempt("right"), attempt("broken", 1), attempt("broken", 2, source=attempt("broken").source + "\n")], True),
    ],
)  # fmt: skip
def test_a_failing_program_that_comes_back_is_told_so(attempts: list[FormulationAttempt], is_unchanged: bool) -> None:
    session, case = open_session({"supervisor_backward": program("right")})
    session.attempts.extend(attempts)
    ran = asyncio.run(modules.revise_program(session, "  the feedback\n"))
    (prompt,) = case.prompts("supervisor_backward")
    assert "<feedback>\nthe feedback" in prompt
    assert attempts[-1].source.strip() in prompt
    assert (modules.UNCHANGED.strip() in prompt) is is_unchanged
    assert (ran.number, ran.origin, ran.ran) == (len(attempts), "supervisor_backward", RIGHT)


def test_a_failure_is_diagnosed_with_its_program_and_error() -> None:
    session, case = open_session({"syntax_analysis": " 1. a name "})
    session.attempts.append(attempt("broken"))
    text = asyncio.run(modules.diagnose_failure(session))
    assert text.startswith(attempt("broken").error)
    assert text.endswith("\n\n1. a name")
    session.attempts.append(empty_attempt("program", 1, "no block"))
    asyncio.run(modules.diagnose_failure(session))
    first, second = case.prompts("syntax_analysis")
    assert "return 'broken'" in first
    assert "line 3" in first
    assert "(no program)" in second
    assert "no block" in second


@pytest.mark.parametrize(
    ("replies", "calls", "name", "state"),
    [
        ([checker("agrees")], 1, "agrees", CheckStatus.PASSED), ([checker("stops"), checker("agrees")], 2, "agrees", CheckStatus.PASSED),
        ([checker("stops"), checker("stops")], 2, "stops", CheckStatus.UNCHECKED), ([checker("silent")], 1, "silent", CheckStatus.UNCHECKED),
        (["none", "none"], 2, "", CheckStatus.UNCHECKED), ([checker("stops"), "none", "none"], 3, "stops", CheckStatus.UNCHECKED),
        ([checker("forbids")], 1, "forbids", CheckStatus.FAILED),
    ],
)  # fmt: skip
def test_a_checker_that_does_not_run_is_written_again_once(
    replies: list[str], calls: int, name: str, state: CheckStatus
) -> None:
    runner = NamedRunner(stops=Report("KeyError: 'oven'"), silent=Report("", (), None, "nothing is known"))
    session, case = open_session({"counterfactual": replies}, runner, {"flour": 21})
    session.attempts.append(attempt())
    asyncio.run(modules.write_checker(session))
    assert len(case.asked) == calls
    assert (name_of(session.checker) if session.checker else "") == name
    assert session.newest.checked is not None
    assert session.newest.checked.state is state
    assert all("values['x']" in prompt and '{"flour": 21}' in prompt for prompt in case.prompts("counterfactual"))
    # The second prompt has the checker and its error.
    assert ["return 'stops'" in prompt and "'oven'" in prompt for prompt in case.prompts("counterfactual")][:2] == (
        [False] if calls == 1 else [False, "stops" in replies[0]]
    )
    assert [entry.module for entry in session.pool if entry.author == "oragent"] == (
        ["checks"] if replies[-1] == "none" else []
    )


def reconsidered(
    new: Report, before: Checked, now: Checked, appeal: Citation | None, reply: str = "", source: str = ""
) -> tuple[FormulationSession, str]:
    """The session after the checker was asked again, and the prompt."""
    session, case = open_session({"counterfactual": reply or checker("new")}, NamedRunner(new=new))
    session.checker = checker("old")
    session.attempts.extend([attempt("right", 0, before), attempt("right", 1, now, source)])
    asyncio.run(modules.reconsider_checker(session, appeal))
    return session, case.prompts("counterfactual")[0]


APPEAL = Citation("There are 21 kg of flour", 1)


def test_a_checker_that_insists_on_its_findings_is_disputed() -> None:
    before, now = failed(finding("oven"), finding("gone")), failed(finding("oven"), finding("other"))
    session, prompt = reconsidered(FORBIDS, before, now, APPEAL)
    assert [(dispute.name, dispute.program, dispute.checker.line) for dispute in session.disputes] == [
        ("oven", APPEAL, None)
    ]
    assert session.withdrawn == ()
    # The repeated finding is shown with its text, and the citation with its line.
    assert "- oven: about oven" in prompt
    assert "other" not in prompt.partition("# What the checker says")[2].partition("# What the other")[0]
    assert "(line 1)" in prompt
    assert "return 'old'" in prompt


def test_a_checker_that_gives_way_has_withdrawn_its_findings() -> None:
    before = now = failed(finding("oven"), finding("mill"))
    session, _ = reconsidered(AGREES, before, now, APPEAL)
    assert (session.disputes, [dispute.name for dispute in session.withdrawn]) == ((), ["oven", "mill"])
    # The sentence of the checker is the beginning of the text.
    assert {dispute.checker.line for dispute in session.withdrawn} == {1}
    assert session.newest.checked is not None
    assert session.newest.checked.state is CheckStatus.PASSED
    session, _ = reconsidered(FORBIDS, before, now, APPEAL)
    assert [dispute.name for dispute in session.withdrawn] == ["mill"]
    assert [dispute.name for dispute in session.disputes] == ["oven"]


def test_a_checker_that_finds_something_else_is_no_dispute() -> None:
    before = now = failed(finding("oven"))
    new = Report("", VIOLATED.entries, FORBIDS.comparison)
    session, _ = reconsidered(new, before, now, APPEAL)
    assert (session.disputes, session.withdrawn) == ((), ())


def test_a_checker_that_is_not_written_again_or_does_not_run_changes_nothing() -> None:
    before = now = failed(finding("oven"))
    session, _ = reconsidered(AGREES, before, now, APPEAL, "I will not.")
    assert (session.checker, session.disputes, session.withdrawn, session.newest.checked) == (
        checker("old"),
        (),
        (),
        now,
    )
    session, _ = reconsidered(Report("KeyError"), before, now, APPEAL)
    assert session.withdrawn == ()


def test_without_an_appeal_the_comments_of_the_program_are_cited() -> None:
    source = "import pulp\n# There are 21 kg\n    # of flour\ndef solve(data):\n    return 'right'\n"
    now = failed(finding("oven"), finding("mill", Reason.ALLOWS), finding("flour"))
    session, prompt = reconsidered(FORBIDS, failed(), now, None, source=source)
    listed = prompt.partition("somebody else rejects\n")[2].partition("\n\n#")[0]
    assert listed.split("\n") == ["- oven", "- flour"]
    assert "# There are 21 kg\n# of flour" in prompt
    # Nothing is disputed without an appeal; what is not said again is withdrawn.
    assert session.disputes == ()
    assert [(dispute.name, dispute.program.line) for dispute in session.withdrawn] == [("flour", None)]
    session, prompt = reconsidered(FORBIDS, failed(), failed(finding("mill", Reason.ALLOWS)), None)
    assert "- that point" in prompt
    assert prompt.partition("the other one cites\n")[2].split("\n")[0] == "nothing"


def test_an_author_of_a_checker_sees_twelve_findings_and_a_part_of_the_comments() -> None:
    many = failed(*(finding(f"row {at}") for at in range(14)))
    source = "".join(f"# {letter * 99}\n" for letter in "abcdefghij") + "def solve(data):\n    return 'right'\n"
    _, prompt = reconsidered(FORBIDS, many, many, APPEAL, source=source)
    assert prompt.count("- row ") == 12
    cited = prompt.partition("the other one cites\n")[2].partition("\n\n#")[0]
    assert len(cited) == modules.MAX_CITED
    assert cited.startswith(APPEAL.text)


@pytest.mark.parametrize(
    ("facts", "meanings"),
    [
        (["make_i: loaves made, kg, continuous"], {"make": "; loaves made, kg"}), (["Make[i]: loaves, integer"], {"make": "; loaves"}),
        (["sold (a): , kg, binary"], {"sold": "; kg"}), (["make: integer"], {}), (["make: loaves"], {}), (["make: , , real"], {}), ([5, None], {}),
        (["a: x, integer", "b: y, time"], {"a": "; x", "b": "; y"}),
    ],
)  # fmt: skip
def test_the_meaning_of_a_variable_is_what_stands_before_its_kind(facts: list, meanings: dict[str, str]) -> None:
    assert dict(modules.read_meanings(facts)) == meanings


def test_a_long_meaning_is_cut() -> None:
    ((_, text),) = modules.read_meanings([f"a: {'x' * 250}, integer"])
    assert 190 < len(text.removeprefix("; ")) <= 200


def test_values_are_described_by_their_places_with_their_meanings() -> None:
    values = {"Make": {"a": 3.0, "b": None}, "open": True, "note": "text", "n": 2}
    session, case = open_session({"counterfactual": checker("agrees")})
    session.pool.append(PoolEntry("formalization", "", {"VARIABLES": ["make: loaves, kg, continuous"]}))
    session.attempts.append(
        FormulationAttempt(0, "program", "", ExecutionResult(None, milp=BAKERY, solution=SOLVED, values=values))
    )
    prompt = modules.prompt_checker(session)
    lines = prompt.partition("# The values of a solution")[2].partition("\n# ")[0].strip().splitlines()
    shown = [line for line in lines if line.startswith("- ")]
    assert shown[0] == "- values['Make']: dict of 2 by 'a', 'b': number; loaves, kg"
    assert [line.split(": ")[0] for line in shown[1:]] == ["- values['open']", "- values['note']", "- values['n']"]
    assert shown[3].endswith("number")
    # A value without names, and a formalization of another form.
    session.pool.append(PoolEntry("formalization", "", {"VARIABLES": "make"}))
    session.attempts.append(FormulationAttempt(1, "program", "", ExecutionResult(None, values=[1.0, None])))
    assert "- values: list of 2: number" in modules.prompt_checker(session)
    assert case.asked == []


def test_words_and_data_are_asked_for_twice_at_most_and_kept() -> None:
    session, case = open_session(
        {"compiler": ["", " the words "], "terminology": ["{}", "[1]"], "reviewer": ["", " "]}, temperature=0.5
    )
    assert asyncio.run(session.ask_words("compiler", "prompt")) == "the words"
    assert [entry.text for entry in session.pool] == [" the words "]
    # The tokens of both replies count.
    assert session.pool[0].tokens == 2 * 34
    assert asyncio.run(session.ask_data("terminology", "prompt", list)) == [1]
    assert session.pool[1].parsed == [1]
    with pytest.raises(ReplyError):
        asyncio.run(session.ask_words("reviewer", "prompt"))
    assert (session.pool[2].text, session.pool[2].parsed) == (" ", None)
    assert case.roles == ["compiler"] * 2 + ["terminology"] * 2 + ["reviewer"] * 2
    assert set(case.temperatures) == {0.5}
    assert asyncio.run(session.ask_data("reviewer", "prompt", dict)) is None


def test_an_edit_takes_the_place_of_the_first_call_of_its_module() -> None:
    session, case = open_session({"compiler": "the words"}, edits={"compiler": " by hand "})
    assert asyncio.run(session.ask_words("compiler", "prompt")) == "by hand"
    assert (session.pool[0].author, session.pool[0].text, case.asked) == ("person", " by hand ", [])
    assert asyncio.run(session.ask_words("compiler", "prompt")) == "the words"
    assert asyncio.run(session.ask_words("compiler", "prompt")) == "the words"
    assert [entry.author for entry in session.pool] == ["person", "model", "model"]
    assert len(case.asked) == 2


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('```json\n{"a": 1}\n```\n```python\nx\n```', {"a": 1}), ("```json\n[1]\n```", {}), ('```\n  {"a": 1}\n```\n```\n{"b": 2}\n```', {"a": 1}),
        # One that cannot be read is passed over, and thoughts are none.
        ('```json\n{"a": \n```\n```json\n{"b": 2}\n```', {"b": 2}), ('<think>```json\n{"a": 1}\n```</think>', {}), ('{"a": 1}', {}), ("", {}),
    ],
)  # fmt: skip
def test_facts_are_the_first_object_in_a_block(text: str, facts: dict[str, int]) -> None:
    assert extract_facts(text) == facts


def test_data_of_the_user_count_before_those_of_the_encoder() -> None:
    session, _ = open_session({}, data={"flour": 5})
    parsed = {"flour": {"Value": 9}, "hours": {"Value": 0}, "mill": {"Value": None}, "odd": 3, "gone": {}}
    session.pool.append(PoolEntry("semantic_encoder", "", parsed))
    assert session.data == {"flour": 5, "hours": 0}


def test_the_answer_is_the_best_attempt_or_the_newest_one() -> None:
    passed = Checked(CheckStatus.PASSED, (), 3, 3, compared=True, compared_aims=1)
    for keeps_best, number in ((True, 0), (False, 1)):
        session, _ = open_session({}, keep_best=keeps_best)
        session.attempts.extend([attempt("right", 0, passed), attempt("right", 1, failed(finding("oven")))])
        assert session.best_attempt().number == number
    assert best_attempt(session.attempts).number == 0


@pytest.mark.parametrize(("has_checker", "name"), [(True, "right"), (False, "right"), (True, "broken")])
@pytest.mark.parametrize("compares", [False, True])
def test_an_attempt_is_checked_if_it_has_a_plan_and_there_is_a_checker(
    has_checker: bool, name: str, compares: bool
) -> None:
    session, _ = open_session({}, data={"flour": 21})
    session.compares_rules = compares
    session.checker = checker("agrees") if has_checker else ""
    session.attempts.append(attempt(name))
    checked = asyncio.run(session.check_newest()).checked
    assert checked is not None
    is_checked = has_checker and name == "right"
    assert (checked.state is CheckStatus.PASSED) is is_checked
    assert session.runner.calls == ([("agrees", compares)] if is_checked else [])  # type: ignore[attr-defined]
    assert bool(checked.note) is not is_checked


def test_prompts_have_the_background_the_library_and_the_attention() -> None:
    session, _ = open_session({}, data={"flour": 21}, attention="whole loaves")
    session.problem = ProblemText("bakery", f" {STORY} ", {"flour": 21}, background="Rye.")
    text = session.fill_prompt("supervisor_forward")
    assert f"{STORY}\n\nBackground: Rye." in text
    assert "whole loaves" in text
    assert '{"flour": 21}' in text
    assert "PuLP" in text
    session.attempts.append(attempt(source="import gurobipy as gp\ndef solve(data): ..."))
    assert "gurobipy" in session.fill_prompt("supervisor_backward", program="", feedback="")
    session, _ = open_session({})
    assert "Also heed: none" in session.fill_prompt("supervisor_forward")
    assert session.problem_text == STORY


def revised(
    replies: Mapping[str, str | Sequence[str]], first: str, diagnose: bool = False, **options: Any
) -> tuple[FormulationSession, ScriptedCase, int]:
    """Session, calls and the number of the answer after the check and the revisions of a program."""
    runner = NamedRunner(violated=VIOLATED, **options.pop("results", {}))
    session, case = open_session(replies, runner, **options)
    session.attempts.append(attempt(first))
    answer = asyncio.run(check_and_revise(session, diagnose=diagnose))
    return session, case, answer.number


BACK = "supervisor_backward"
CHECK = "counterfactual"


@pytest.mark.parametrize(
    ("first", "replies", "options", "roles", "answer"),
    [
        ("right", {CHECK: checker("agrees")}, {}, [CHECK], 0),
        # Repairs of a program that fails, up to their number; each may be diagnosed.
        ("broken", {BACK: program("right"), CHECK: checker("agrees")}, {}, [BACK, CHECK], 1),
        ("broken", {BACK: program("broken")}, {"repairs": 3}, [BACK] * 3, 0), ("broken", {}, {"repairs": 0}, [], 0),
        ("broken", {BACK: program("broken"), "syntax_analysis": "why"}, {"diagnose": True}, ["syntax_analysis", BACK] * 2, 0),
        # Revisions of a program that the checks contradict.
        ("right", {CHECK: checker("violated"), BACK: program("right")}, {}, [CHECK, BACK, BACK], 0), ("right", {CHECK: checker("violated")}, {"checks": 0}, [], 0),
        ("right", {CHECK: checker("violated"), BACK: program("right")}, {"checks": 1}, [CHECK, BACK], 0),
        ("right", {CHECK: checker("violated"), BACK: program("right")}, {"keep_best": False}, [CHECK, BACK], 1),
        # A revision that fails is repaired by what is left of the repairs.
        ("broken", {BACK: [program("right"), program("broken")], CHECK: checker("violated")}, {"checks": 1}, [BACK, CHECK, BACK, BACK], 1),
        ("right", {CHECK: checker("agrees")}, {"without": frozenset({"counterfactual"})}, [], 0),
        # A program that keeps a row against the checker: it is read again, once.
        ("right", {CHECK: checker("forbids"), BACK: program("right")}, {}, [CHECK, BACK, CHECK, BACK], 0),
        ("right", {CHECK: [checker("forbids"), checker("agrees")], BACK: program("right")}, {}, [CHECK, BACK, CHECK], 1),
        # With a citation the checker that insists is disputed, and nothing more is asked.
        ("right", {CHECK: checker("violated"), BACK: program("right", "There are 21 kg of flour")}, {}, [CHECK, BACK, CHECK], 0),
    ],
)  # fmt: skip
def test_a_program_is_repaired_checked_and_revised_in_turn(
    first: str, replies: dict[str, Any], options: dict[str, Any], roles: list[str], answer: int
) -> None:
    session, case, number = revised(replies, first, **options)
    assert (case.roles, number) == (roles, answer)
    assert [attempt.number for attempt in session.attempts] == list(range(len(session.attempts)))


def test_feedback_is_that_of_the_checker_and_of_the_failure() -> None:
    _, case, _ = revised({CHECK: checker("violated"), BACK: [program("broken"), program("right")]}, "right", checks=1)
    first, second = case.prompts(BACK)
    assert "flour" in first.partition("<feedback>")[2]
    assert "21" in first.partition("<feedback>")[2]
    assert "line 3" in second.partition("<feedback>")[2]
    _, case, _ = revised(
        {BACK: program("right"), "syntax_analysis": "the cause", CHECK: checker("agrees")}, "broken", diagnose=True
    )
    (prompt,) = case.prompts(BACK)
    assert "the cause" in prompt
    refused = ExecutionResult(SolveVerdict.UNSUPPORTED, "nonlinear")
    session, case = open_session({}, NamedRunner())
    session.attempts.append(FormulationAttempt(0, "program", "", refused))
    asyncio.run(check_and_revise(session, diagnose=True))
    # What has no exact form is not repaired.
    assert case.asked == []


def test_a_failed_test_of_changed_data_is_feedback_if_there_is_no_other() -> None:
    def results(*holds: bool | None) -> tuple[PropertyResult, ...]:
        return tuple(PropertyResult(Property.ORDER, each, f"datum {at}", f"note {at}") for at, each in enumerate(holds))

    for metamorphic, holds, count in (
        (True, (False, True, None, False), 1), (True, (True, None), 0), (False, (False,), 0)
    ):  # fmt: skip
        session, case = open_session(
            {CHECK: checker("agrees"), BACK: program("broken")}, metamorphic=metamorphic, repairs=0, checks=1
        )
        session.attempts.append(attempt())

        async def test_newest(holds: tuple = holds) -> tuple[PropertyResult, ...]:
            return results(*holds)

        session.test_newest = test_newest  # type: ignore[method-assign]
        asyncio.run(check_and_revise(session, diagnose=False))
        prompts = case.prompts(BACK)
        assert len(prompts) == count
        for prompt in prompts:
            assert re.findall(r"(datum|note) (\d)", prompt) == [
                ("datum", "0"),
                ("note", "0"),
                ("datum", "3"),
                ("note", "3"),
            ]


@pytest.mark.parametrize(
    ("before", "now", "source", "line"),
    [
        (failed(finding("oven")), failed(finding("oven")), "# There are 21 kg of flour\n", 1), (failed(finding("oven")), failed(finding("mill")), "# There are 21 kg of flour\n", None),
        (failed(finding("oven")), failed(finding("oven", Reason.ALLOWS)), "# There are 21 kg of flour\n", None), (failed(finding("oven")), failed(finding("oven")), "# other words here\n", None),
        (None, failed(finding("oven")), "# There are 21 kg of flour\n", None), (failed(finding("oven")), None, "# There are 21 kg of flour\n", None),
    ],
)  # fmt: skip
def test_a_citation_is_an_appeal_against_findings_that_remain(
    before: Checked | None, now: Checked | None, source: str, line: int | None
) -> None:
    session, _ = open_session({})
    session.attempts.extend([attempt("right", 0, before), attempt("right", 1, now, source)])
    appeal = find_appeal(session)
    assert (None if appeal is None else appeal.line) == line
    session.attempts.append(attempt("broken", 2, now, source))
    assert find_appeal(session) is None


ALL_REPLIES = {
    "semantic_encoder": encoded(flour=21), "formalization": readings(1), "compiler": program("right"), "supervisor_forward": program("right"),
    "program": f"{readings(0)}\n{program('right')}", CHECK: checker("agrees"), "reading": program("right"), "terminology": "[]", "reviewer": "good", "conductor": "compiler",
}  # fmt: skip
OPENING = ["semantic_encoder", "formalization", "compiler"]


@pytest.mark.parametrize(
    ("options", "roles"),
    [
        ({}, [*OPENING, "supervisor_forward", CHECK, "reading"]), ({"without": frozenset({"formalization"})}, ["semantic_encoder", "compiler", "supervisor_forward", CHECK]),
        ({"without": frozenset({"compiler"})}, [*OPENING[:2], "supervisor_forward", CHECK, "reading"]),
        # Without a supervisor the compiler writes the program.
        ({"without": frozenset({"supervisor"})}, [*OPENING[:2], "compiler", CHECK]), ({"without": frozenset({"supervisor", "counterfactual"})}, [*OPENING[:2], "compiler"]),
        ({"extra": ("terminology",)}, ["terminology", *OPENING, "supervisor_forward", CHECK, "reading"]), ({"extra": ("reviewer",)}, [*OPENING, "reviewer", "supervisor_forward", CHECK, "reading"]),
        ({"keep_best": False}, [*OPENING, "supervisor_forward", CHECK]),
        # The conductor chooses among those who are left; after its first word they come in their order.
        ({"extra": ("conductor",)}, ["conductor", "compiler", "conductor", *OPENING[:1], "conductor", OPENING[1], "supervisor_forward", CHECK, "reading"]),
    ],
)  # fmt: skip
def test_modules_are_asked_in_the_order_of_the_paper(options: dict[str, Any], roles: list[str]) -> None:
    session, case = open_session(ALL_REPLIES, method="ormind", **options)
    answer = asyncio.run(ormind(session))
    assert case.roles == roles
    assert answer.ran is RIGHT
    for number, prompt in enumerate(case.prompts("conductor")):
        assert f"{3 - number} more" in prompt


def test_a_problem_that_is_called_nonlinear_and_a_draft_that_fails_are_not_checked() -> None:
    session, case = open_session({**ALL_REPLIES, "formalization": '{"CLASS": "nonlinear: x times y"}'}, method="ormind")
    answer = asyncio.run(ormind(session))
    assert case.roles == OPENING
    assert (answer.origin, answer.number, answer.ran.verdict) == ("formalization", 0, SolveVerdict.UNSUPPORTED)
    assert "x times y" in answer.ran.message
    session, case = open_session(
        {**ALL_REPLIES, "compiler": program("broken")}, method="ormind", without=frozenset({"supervisor"})
    )
    answer = asyncio.run(ormind(session))
    assert (case.roles, answer.ran) == (OPENING, BROKEN)
    # A diagnosis is asked for unless it is left out.
    replies = {**ALL_REPLIES, "supervisor_forward": program("broken"), BACK: program("right"), "syntax_analysis": "why"}
    for without, middle in ((frozenset(), ["syntax_analysis", BACK]), (frozenset({"syntax_analysis"}), [BACK])):
        session, case = open_session(replies, method="ormind", without=without)
        asyncio.run(ormind(session))
        assert case.roles == [*OPENING, "supervisor_forward", *middle, CHECK, "reading"]


def test_two_calls_are_a_program_and_a_checker() -> None:
    session, case = open_session(ALL_REPLIES)
    answer = asyncio.run(two_calls(session))
    assert (case.roles, answer.ran) == (["program", CHECK], RIGHT)
    session, case = open_session(
        {**ALL_REPLIES, "program": f"```json\n{readings(1)}\n```\n{program('broken')}", BACK: program("right")}
    )
    asyncio.run(two_calls(session))
    # The error goes back without a diagnosis, and the other reading is solved last.
    assert case.roles == ["program", BACK, CHECK, "reading"]


def test_changed_data_are_tested_with_the_units_and_the_checker_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    results = (PropertyResult(Property.ORDER, True),)

    def run_tests(*words: Any, **named: Any) -> tuple[PropertyResult, ...]:
        met.append((words, named))
        return results

    monkeypatch.setattr(session_module, "run_metamorphic_tests", run_tests)
    session, _ = open_session({}, data={"flour": 21})
    session.checker = checker("agrees")
    session.attempts.append(attempt())
    for parsed, unit in ((None, ""), ({"UNIT": None}, ""), ({"UNIT": "EUR"}, "EUR")):
        session.pool.append(PoolEntry("formalization", "", parsed))
        assert asyncio.run(session.test_newest()) == results
        words, named = met[-1]
        assert words == (session.runner, session.newest.source, session.problem.interface, {"flour": 21}, {})
        assert named == {"unit": unit, "checker": session.checker}
    assert [each.properties for each in session.attempts] == [results]


@pytest.mark.parametrize(("data", "names"), [({}, "none"), ({"flour": 21, "hours": 12}, "flour, hours")])
def test_the_author_of_a_checker_is_told_the_names_of_the_data(data: dict[str, int], names: str) -> None:
    session, _ = open_session({}, data=data)
    session.attempts.append(attempt())
    assert modules.prompt_checker(session).partition("# Parameters")[2].splitlines()[1] == names


@pytest.mark.parametrize(
    ("name", "checks", "data", "metamorphic", "is_tested"),
    [
        ("right", "agrees", {"flour": 21}, True, True), ("right", "agrees", {"flour": 21}, False, False), ("right", "agrees", {}, True, False), ("broken", "agrees", {"flour": 21}, True, False),
        ("right", "", {"flour": 21}, True, True), ("broken", "", {"flour": 21}, True, False),
    ],
)  # fmt: skip
def test_a_given_program_is_checked_and_tested_if_it_runs_and_reads_data(
    monkeypatch: pytest.MonkeyPatch, name: str, checks: str, data: dict[str, int], metamorphic: bool, is_tested: bool
) -> None:
    monkeypatch.setattr(
        session_module, "run_metamorphic_tests", lambda *words, **named: (PropertyResult(Property.ORDER, True),)
    )
    request = FormulationRequest(ProblemText("bakery", STORY, data), choose_options("default", metamorphic=metamorphic))
    case, runner = ScriptedCase({CHECK: checker("agrees")}), NamedRunner()
    given = GivenModel(source=f"def solve(data):\n    return '{name}'\n")
    work = verify_case(case, request, given, runner, checks and checker(checks))  # type: ignore[arg-type]
    result = asyncio.run(work)
    assert bool(result.metamorphic) is is_tested
    # A language model writes the checker where none is given, for a program that runs; each rule is compared.
    assert case.roles == ([CHECK] if name == "right" and not checks else [])
    assert runner.calls == [(name, data), *([("agrees", True)] if name == "right" else [])]
    assert (result.milp is not None) is (name == "right")
    assert (result.checks is not None and result.checks["state"] == CheckStatus.PASSED) is (name == "right")
