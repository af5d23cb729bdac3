"""Rounds of one action each: several programs in a reply, the choice by gain for tokens, sweeps without a call."""

import asyncio
import json
import multiprocessing
import re
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.search.candidate import Elite
from oragent.search.experiments import Subset, SweepResult, SweepRow
from oragent.search.folder import make_folder, reopen
from oragent.search.prompting import prompt_templates
from oragent.search.round_context import RoundContext
from oragent.search.store import RoundNote, Store
from oragent.search.strategies.or_agent import STRATEGY
from oragent.search.strategies.or_agent.allocation import ActionKind, ActionRecord, upper_bound
from oragent.search.strategies.or_agent.coding import read_drafts, read_lesson
from oragent.search.strategies.or_agent.prompt_sections import head_and_tail
from oragent.search.strategies.or_agent.sweeps import MAX_SETTINGS, expected_seconds
from oragent.search.strategies.scripted import make_player
from tests.search.players import Players, guess, notes, origins, search
from tests.search.test_candidates import problem
from tests.search.test_engine import history, scored
from tests.search.test_engine import search as searched

ACTIONS = "model.name=m", "or_agent.rounds=actions", "strategy.tuning=0", "strategy.patience=3"
SCALED = "SCALE = 3  # param: SCALE = 3, 1..40\n\n\ndef helper(x):\n    return x * SCALE\n\n\ndef guess(x):\n    return helper(x)\n"
REPLY = """LESSON: twice x gives 94.
PROGRAM 1: whole
IDEA: A program
of its own.
```python
def guess(x):
    # PROGRAM: no heading
    return 7
```
## PROGRAM: a helper
SWEEP: SCALE = 4, 5
```python
def helper(x):
    return x * SCALE + 1
```
**PROGRAM: lines**
IDEA: other lines
<<<<<<< SEARCH
    return helper(x)
=======
    return helper(x) - 1
>>>>>>> REPLACE
PROBE: look
```python
def guess(x):
    print(x)
    return x
```
PROGRAM: broken
```python
def guess(x:
```
"""


def part(value: object, title: str = "a value") -> str:
    return f"PROGRAM: {title}\nIDEA: Return it.\n{guess(value)}"


def test_a_reply_holds_programs_edits_functions_and_probes(begun) -> None:
    found = []

    async def play_round(run: RoundContext) -> None:
        found.extend(read_drafts(run, REPLY, SCALED, 9))

    searched(begun("strategy.patience=1"), play_round)
    whole, helper, lines, probe, broken = found[:5]
    assert (whole.title, whole.idea, "no heading" in whole.source) == ("whole", "A program", True)
    assert helper.axes == ("SCALE=4,5",)
    assert "return x * SCALE + 1" in helper.source
    assert "return x * SCALE\n" not in helper.source
    assert helper.source.index("SCALE = 3") < helper.source.index("def helper") < helper.source.index("def guess")
    assert "helper(x) - 1" in lines.source
    assert probe.is_probe
    assert broken.problem.startswith("syntax error")
    assert read_lesson(REPLY) == "twice x gives 94."


@pytest.mark.parametrize(
    ("line", "axes", "named"),
    [
        ("SCALE=4,5 instances=16", ("SCALE=4,5", "instances=16"), []),
        ("SCALE=4,5 OTHER=1,2", ("SCALE=4,5",), ["OTHER"]),
        ("OTHER=1,2", (), ["OTHER"]),
        ("SCALE=4,5 SCALE=6", (), ["SCALE"]),
        ("SCALE=9..4", (), ["SCALE=9..4"]),
        ("SCALE", ("SCALE",), []),
        ("", (), []),
    ],
)
def test_words_of_a_sweep_that_cannot_be_used_are_named(begun, line: str, axes: tuple, named: list[str]) -> None:
    found = []
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: {line}\n```python\n{SCALED}```"

    async def play_round(run: RoundContext) -> None:
        found.extend(read_drafts(run, reply, None, 9))

    searched(begun("strategy.patience=1"), play_round)
    assert found[0].source
    assert found[0].axes == axes
    assert bool(found[0].remark) == bool(named)
    assert all(name in found[0].remark for name in named)


def test_an_unknown_number_of_a_sweep_is_told_to_the_writer_and_to_the_user(begun) -> None:
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,5 OTHER=1,2\n```python\n{SCALED}```"
    model, told = Players(idea=reply, experiment=part(34), code="no"), []
    search(begun(*ACTIONS, "budget.model_calls=2"), model, run=scored, tell=told.append)
    assert "OTHER" in model.asked[1][1].partition("What became of the programs")[2].partition("\n\n")[0]
    assert [text for text in told if "OTHER" in text]


def test_one_call_writes_several_programs_and_each_has_its_title_idea_and_score(begun) -> None:
    asked = iter(range(100))

    def write(prompt: str) -> str:
        first = 10 * next(asked) + 10
        return "\n\n".join(["LESSON: more is better.", *(part(first + n, f"title {first + n}") for n in range(3))])

    model = Players(idea=write, experiment=write, code=write)
    folder = begun(*ACTIONS, "budget.model_calls=3")
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        records = [record for record in store.records() if record.round]
        titles = {note.text.partition(" ")[2] for note in store.notes() if note.kind == "title"}
    assert [record.score for record in records] == [90, 89, 88, 80, 79, 78, 70, 69, 68]
    assert {"title 10", "title 22", "title 32"} <= titles
    first, edit, third = (prompt for _, prompt, _ in model.asked)
    for prompt in first, edit, third:  # what is edited has the name of its heading
        assert "\nThe program to change, score " in prompt
        assert "of the same name in the program to change\n- edits of lines of the program to change" in prompt
        assert "last program above" not in prompt
    assert "up to 4 programs of different kinds" in first
    assert "- 88: title 12" in edit
    assert edit.count("def guess(x):\n    return 12") == 1  # the whole code of the best stands there once
    assert "The latest lessons:\n- more is better." in edit
    assert "title 10" in third
    kinds = [record["action"] for record in notes(folder, "action")]
    assert kinds == ["opening", "edit", "edit"]
    assert [record["gain"] for record in notes(folder, "action")] == [6, 10, 10]


DOCUMENTED = (
    'def guess(x):\n    """Return a guess.\n\n    Args:\n        x: a number.\n    """\n    y = x * 2.0\n    return y\n'
)


def test_a_prompt_tells_the_docstring_once_and_edits_apply_to_the_text_that_it_shows(begun, toy) -> None:
    (toy / "heuristic.py").write_text(DOCUMENTED)
    edit = "<<<<<<< SEARCH\ndef guess(x):\n    y = x * 2.0\n=======\ndef guess(x):\n    y = 9\n>>>>>>> REPLACE\n"
    reply = f"LESSON: none.\nPROGRAM: nine\nIDEA: Nine.\n{edit}"
    model = Players(idea=lambda prompt: reply, experiment=lambda prompt: reply, code=lambda prompt: reply)
    folder = begun(*ACTIONS, "budget.model_calls=1")
    search(folder, model)
    (_, prompt, _), *_ = model.asked
    assert "Args:" not in prompt
    assert "```python\ndef guess(x):\n    y = x * 2.0\n    return y\n```" in prompt
    assert "complete program and defines `guess`" in prompt
    with Store(folder.database, readonly=True) as store:
        assert [record.score for record in store.records()][1:] == [91]


def test_the_action_that_gains_most_for_its_tokens_is_chosen_and_others_now_and_then() -> None:
    kinds = [kind for kind in ActionKind if kind is not ActionKind.OPENING]
    cheap = [ActionRecord(ActionKind.EDIT, 3, 1000, 5.0)] * 4
    dear = [ActionRecord(ActionKind.IDEA, 3, 8000, 5.0)] * 4

    def ranked(records: list[ActionRecord], available: list[ActionKind]) -> list[ActionKind]:
        return sorted(available, key=lambda kind: -upper_bound(kind, records, available))

    assert ranked(cheap + dear, kinds).index(ActionKind.EDIT) < ranked(cheap + dear, kinds).index(ActionKind.IDEA)
    many = [ActionRecord(ActionKind.EDIT, 3, 1000, 0.0)] * 22 + dear[:1]
    assert ranked(many, kinds).index(ActionKind.IDEA) < ranked(many, kinds).index(ActionKind.EDIT)
    free = [ActionRecord(ActionKind.SWEEP, 1, 0, 5.0)]
    assert ranked(cheap[:2] + free, [kind for kind in kinds if kind is not ActionKind.SWEEP])[0] is ActionKind.EDIT


def test_numbers_of_the_best_program_are_swept_without_a_call(begun) -> None:
    model = Players(
        idea=f"PROGRAM: scaled\nIDEA: Scale it.\n```python\n{SCALED}```", experiment="nothing", code="nothing"
    )
    folder = begun(*ACTIONS, "budget.model_calls=8", "strategy.patience=9")
    result = search(folder, model)
    swept = [record for record in notes(folder, "action") if record["action"] == "sweep"]
    assert swept[0]["tokens"] == 0
    assert swept[0]["programs"] == 1
    assert result.progress.best.score < 5  # 3 times 33 or 34 is nearest to 100
    assert "tune" in origins(folder)
    assert len(swept) == 1  # nor is what came of it swept again


def test_a_probe_alone_is_answered_and_the_same_is_asked_again(begun) -> None:
    probe = "PROBE: look\n```python\ndef guess(x):\n    return 1\n```"
    model = Players(idea=[probe, part(40)], experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=3")
    search(folder, model)
    first, second = model.prompts("idea")[:2]
    assert "Probe 1.1, 'look', printed:" not in first
    assert "Probe 1.1, 'look', printed:" in second
    assert "up to 4 programs of different kinds" in second


def test_a_reply_of_which_nothing_can_be_used_is_sent_back_once(begun) -> None:
    model = Players(idea="no program", repair="still none", experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=3")
    search(folder, model)
    assert [role for role, _, _ in model.asked] == ["idea", "repair", "experiment"]
    with Store(folder.database, readonly=True) as store:
        assert [record.candidate.evaluation.status for record in store.records(1)] == [Status.REJECTED]


@pytest.mark.slow
def test_a_run_of_actions_is_the_same_at_any_number_of_workers_and_when_it_is_replayed(begun, tmp_path: Path) -> None:
    runs = [begun(*ACTIONS, "budget.model_calls=12") for _ in range(2)]
    for folder, workers in zip(runs, (1, 3), strict=True):
        search(folder, make_player(4), workers=workers)
    assert history(runs[0]) == history(runs[1])
    assert notes(runs[0], "action") == notes(runs[1], "action")
    assert len(notes(runs[0], "action")) > 5


def answer(prompt: str) -> str:
    """Measure alone first, and write a program beside another measurement when its output is in the prompt."""
    shown = "again " if "Probe 1.1, 'look', printed:" in prompt else ""
    probe = f"PROBE: look\n```python\ndef guess(x):\n    print('{shown}look')\n    return {len(prompt)}\n```"
    if not shown:
        return probe
    return f"{probe}\nPROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,5,6,7\n```python\n{SCALED.replace('x * SCALE', f'x * SCALE + {len(prompt) % 7}')}```"


class Toy:
    """Evaluate the toy problem, log what began, and end the process at one evaluation."""

    def __init__(self, log: Path, fatal: int) -> None:
        self.log, self.fatal, self.count = log, fatal, 0

    def __call__(self, job: Job) -> Evaluation:
        self.count += 1
        with self.log.open("a") as file:
            file.write(json.dumps([job.mode, job.source, [word for word in job.arguments if "check" in word]]) + "\n")
        if self.count == self.fatal:
            signal.raise_signal(signal.SIGKILL)
        return scored(job)


class Logged(Players):
    """Log the key of each call."""

    def __init__(self, log: Path) -> None:
        super().__init__(idea=answer, experiment=answer, code=answer)
        self.log = log

    async def __call__(self, request):
        with self.log.open("a") as file:
            file.write(json.dumps(["asked", request.key]) + "\n")
        return await super().__call__(request)


def play_actions(path: Path, log: Path, fatal: int) -> None:
    search(reopen(path), Logged(log), run=Toy(log, fatal), workers=1, offers=frozenset(["--check"]))


def play_in_a_process(path: Path, log: Path, fatal: int) -> None:
    prompt_templates._python_version = lambda: "3.11"  # as in all tests: replies depend on prompts, which name it
    play_actions(path, log, fatal)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["sweep", "score", "check", "probe"])
def test_sigkill_in_a_sweep_an_evaluation_a_check_or_a_probe_repeats_nothing_and_pays_for_nothing_twice(
    begun, tmp_path: Path, what: str
) -> None:
    settings = *ACTIONS, "budget.model_calls=8"
    whole, broken = begun(*settings), begun(*settings)
    play_actions(whole.path, tmp_path / "whole", 0)
    begun_work = [json.loads(line) for line in (tmp_path / "whole").read_text().splitlines()]
    work = [words for words in begun_work if words[0] != "asked"]
    kinds = [
        "check" if words[2] else "sweep" if words[0] == "train" else "probe" if "look" in words[1] else "score"
        for words in work
    ]
    fatal = [number for number, kind in enumerate(kinds, 1) if kind == what][1]
    log = tmp_path / "log"
    process = multiprocessing.get_context("spawn").Process(target=play_in_a_process, args=(broken.path, log, fatal))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    last = log.read_text().splitlines()[-1]
    play_actions(broken.path, log, 0)
    assert history(broken) == history(whole)
    assert notes(broken, "action") == notes(whole, "action")
    times = Counter(log.read_text().splitlines())
    assert [line for line, number in times.items() if number > 1] in ([last], [])
    assert not [line for line, number in times.items() if number > 1 and "asked" in line]


@pytest.mark.parametrize("rounds", ["actions", "tree"])
def test_a_round_that_is_cancelled_writes_nothing_more(begun, rounds: str) -> None:
    class Waiting(Players):
        async def __call__(self, request):
            await asyncio.sleep(60)
            return await super().__call__(request)

    written: list[list[RoundNote]] = []

    async def cancel_round(run: RoundContext) -> None:
        task = asyncio.create_task(STRATEGY.round(run))
        await asyncio.sleep(0.05)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        written.append(run.notes)  # the database may be closed by then

    folder = begun("model.name=m", f"or_agent.rounds={rounds}", "strategy.patience=1")
    searched(folder, replace(STRATEGY, round=cancel_round), model=Waiting())
    assert written
    assert not any(written)


@pytest.mark.parametrize("kind", ["python", "cpp"])
def test_numbers_are_offered_where_they_can_be_read(begun, tmp_path: Path, kind: str) -> None:
    folder = begun(*ACTIONS, "budget.model_calls=1")
    if kind == "cpp":
        folder = make_folder(tmp_path, tmp_path / "outputs", problem(tmp_path / kind, kind), folder.config)
    model = Players(idea="nothing")
    search(folder, model, run=lambda job: Evaluation(Status.OK, 1.0, None, wall_s=0.001))
    (prompt,) = model.prompts("idea")
    for words in ("SWEEP: NAME", "# param: WINDOW", "functions and constants that change"):
        assert (words in prompt) == (kind == "python")
    assert "<<<<<<< SEARCH" in prompt


def test_a_sweep_chooses_no_values_that_would_run_out_of_time_where_programs_are_scored(begun) -> None:
    def timed(job: Job) -> Evaluation:
        evaluation = scored(job)
        scale = int(job.source.partition("SCALE = ")[2].split()[0]) if "SCALE" in job.source else 1
        seconds = scale / 100 if job.mode == "train" else scale / 10
        return replace(evaluation, metrics={**evaluation.metrics, "heuristic_seconds": seconds}, cpu_s=seconds)

    model = Players(idea=f"PROGRAM: scaled\nIDEA: Scale it.\n```python\n{SCALED}```", experiment="nothing", code="no")
    folder = begun(*ACTIONS, "budget.model_calls=8", "strategy.patience=9", "limits.heuristic_s=2")
    search(folder, model, run=timed)
    with Store(folder.database, readonly=True) as store:
        tuned = [record.candidate for record in store.records() if record.candidate.origin == "tune"]
    (scale,) = [int(candidate.source.partition("SCALE = ")[2].split()[0]) for candidate in tuned]
    assert 10 <= scale <= 19  # 33 is best, and would take 3.3 s of 2 s


def practised(job: Job) -> Evaluation:
    """Take 0.1 s of SCALE for the 64 instances of ``val``, and in proportion for those of practice."""
    evaluation = scored(job)
    scale = int(job.source.partition("SCALE = ")[2].split()[0]) if "SCALE = " in job.source else 1
    count = int(job.arguments[-1].partition("=")[2]) if job.mode == "practice" else 64
    seconds = scale / 10 * count / 64
    return replace(
        evaluation, metrics={**evaluation.metrics, "heuristic_seconds": seconds, "instances_done": count}, cpu_s=seconds
    )


PRACTICE = frozenset(["practice", "--instances"])


def test_the_first_call_sweeps_on_practice_instances_and_chooses_what_has_time_when_it_is_scored(begun) -> None:
    part_of_reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,15,33\n```python\n{SCALED}```"
    model = Players(idea=part_of_reply, experiment="nothing", code="no")
    folder = begun(*ACTIONS, "budget.model_calls=1", "limits.heuristic_s=2")
    jobs: list[Job] = []
    search(folder, model, run=lambda job: jobs.append(job) or practised(job), offers=PRACTICE)
    with Store(folder.database, readonly=True) as store:
        (swept,) = [record.candidate for record in store.records(1)]
    assert "SCALE = 15" in swept.source  # 33 is best, and would take 3.3 s of 2 s
    experiments = [job for job in jobs if job.mode == "practice"]
    assert {(job.problem_size, job.arguments[-1]) for job in experiments} == {(None, "--instances=8")}
    assert "8 practice instances of each size" in model.prompts("idea")[0]


def test_what_a_sweep_taught_is_in_the_next_prompt_whichever_program_is_its_parent(begun) -> None:
    swept = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,15\n```python\n{SCALED}```"
    model = Players(idea=f"{swept}\n{part(33)}", experiment=part(34), code="no")
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=2")
    search(folder, model, run=practised, offers=PRACTICE)
    prompt = model.asked[1][1]
    assert "What the numbers of 'scaled' (score" in prompt
    assert "- SCALE = 15:" in prompt.partition("What the numbers of 'scaled'")[2]


def test_a_sweep_between_two_prompts_swallows_no_measurements(begun, monkeypatch) -> None:
    monkeypatch.setattr(
        "oragent.search.strategies.or_agent.action_round.choose_action",
        lambda run, available: ActionKind.SWEEP if run.number == 2 else ActionKind.EDIT,
    )
    swept = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,15\n```python\n{SCALED}```"
    model = Players(experiment=[swept, part(34)])
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=2", "strategy.window=1")
    search(folder, model, run=practised, offers=PRACTICE)
    assert [record["action"] for record in notes(folder, "action")][:2] == ["edit", "sweep"]
    assert "What the numbers of 'scaled' (score" in model.asked[1][1]


def test_where_no_setting_of_a_sweep_has_time_none_is_scored_and_the_next_prompt_says_what_fits(begun) -> None:
    program = SCALED.replace("SCALE = 3", "SCALE = 30")
    part_of_reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=33,25,40\n```python\n{program}```"
    model = Players(idea=part_of_reply, experiment=part(50), code="no")
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=1")
    search(folder, model, run=practised, offers=PRACTICE)
    with Store(folder.database, readonly=True) as store:
        swept, *_ = [record.candidate for record in store.records(1)]
    assert swept.evaluation.status is Status.REJECTED
    # the fastest would take 2.5 s of 1 s, the present value 3 s
    prompt = model.asked[1][1]
    assert (
        "time limit of 1 s: the fastest, SCALE = 25, would take about 3 s when it is scored; values with 30 % of its work fit"
        in prompt
    )
    assert "- SCALE = 25: 25, about 3 s when scored" in prompt


def test_a_sweep_of_the_amount_of_work_alone_sets_it_to_fit_the_time_limit(begun) -> None:
    program = SCALED.replace("SCALE = 3  # param: SCALE = 3, 1..40", "SCALE = 30  # param: SCALE work")
    part_of_reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=33,25,40\n```python\n{program}```"
    model = Players(idea=part_of_reply, experiment=part(50), code="no")
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=1")
    search(folder, model, run=practised, offers=PRACTICE)
    with Store(folder.database, readonly=True) as store:
        swept, *_ = [record.candidate for record in store.records(1)]
    assert swept.evaluation.status is Status.OK
    # 9 takes nine tenths of 1 s
    assert "SCALE = 9 " in swept.source
    assert "SCALE = 9 should take" in model.asked[1][1]


def test_an_amount_of_work_is_set_to_fit_the_time_limit_before_the_program_is_scored(begun) -> None:
    program = SCALED.replace("SCALE = 3  # param: SCALE = 3, 1..40", "SCALE = 30  # param: SCALE work")
    assert "work" in program
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\n```python\n{program}```"
    model = Players(idea=reply, experiment=part(50), code="no")
    folder = begun(*ACTIONS, "budget.model_calls=1", "limits.heuristic_s=2")
    jobs: list[Job] = []
    search(folder, model, run=lambda job: jobs.append(job) or practised(job), offers=PRACTICE)
    with Store(folder.database, readonly=True) as store:
        (calibrated,) = [record.candidate for record in store.records(1)]
    # 0.1 s for each unit of work: 80 % of 2 s
    assert "SCALE = 18 " in calibrated.source
    assert calibrated.evaluation.status is Status.OK
    assert "# param: ROUNDS work" in model.prompts("idea")[0]
    scored_programs = [job.source for job in jobs if job.mode is None]
    assert not any("SCALE = 30 " in source for source in scored_programs)


def limited(job: Job) -> Evaluation:
    """Take SCALE / 10 s for the six instances of ``val``, three of each size, and end at the limit of the function."""
    evaluation = scored(job)
    scale = int(job.source.partition("SCALE = ")[2].split()[0]) if "SCALE = " in job.source else 1
    options = dict(argument.split("=") for argument in job.arguments)
    count = 2 * int(options["--instances"]) if job.mode == "practice" else 6
    seconds, limit = scale / 10 * count / 6, float(options["--heuristic_s"])
    metrics = {"heuristic_seconds": min(seconds, limit), "instances_done": count, "limit": limit}
    if seconds > limit:
        return Evaluation(Status.TIMEOUT, metrics=metrics, cpu_s=limit)
    return replace(evaluation, metrics=metrics, cpu_s=seconds)


@pytest.mark.parametrize("line", ["", "SWEEP: SCALE=25,33", "SWEEP: SHIFT=1,2"])
def test_a_program_fills_its_limit_where_practice_has_more_instances_than_a_score(begun, line: str) -> None:
    program = SCALED.replace("SCALE = 3  # param: SCALE = 3, 1..40", "SCALE = 30  # param: SCALE work")
    program = f"SHIFT = 0  # param: SHIFT = 0, 0..3\n{program.replace('* SCALE', '* SCALE + SHIFT')}"
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\n{line}\n```python\n{program}```"
    probe = f"PROBE: look\n```python\n{program.replace('SCALE = 30', 'SCALE = 18')}```"
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=2")
    about = replace(folder.problem.about, sizes={"val": [20, 50]})
    folder = replace(folder, problem=replace(folder.problem, about=about))
    jobs: list[Job] = []
    offers = PRACTICE | {"--heuristic_s"}
    search(folder, Players(idea=[probe, reply]), run=lambda job: jobs.append(job) or limited(job), offers=offers)
    with Store(folder.database, readonly=True) as store:
        programs = [record.candidate for record in store.records(1)]
    looked, filled = (candidate.evaluation for candidate in programs)
    # As long for an instance as when it is scored, on 16 instances in place of six.
    assert looked.status is filled.status is Status.OK
    assert looked.metrics["heuristic_seconds"] == pytest.approx(1.8 * 16 / 6)
    assert 1.7 <= filled.metrics["heuristic_seconds"] <= 1.8
    assert filled.metrics["limit"] == 2
    calibrated = [job for job in jobs if job.mode == "practice" and "--instances=3" in job.arguments]
    assert calibrated if "SHIFT" not in line else jobs


def test_the_setting_that_is_scored_is_listed_although_others_scored_better(begun) -> None:
    values = ",".join(map(str, (25, *range(31, 31 + 2 * MAX_SETTINGS))))
    program = SCALED.replace("SCALE = 3", "SCALE = 30")
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE={values}\n```python\n{program}```"
    model = Players(idea=reply, experiment=part(50), code="no")
    folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=2.7")
    search(folder, model, run=practised, offers=PRACTICE)
    assert "- SCALE = 25: 25, about 3 s when scored" in model.asked[1][1]
    assert "Of these, SCALE = 25 is scored." in model.asked[1][1]


def test_a_probe_on_practice_instances_tells_score_and_time_beside_the_best_program(begun) -> None:
    probe = "PROBE: look\n```python\nSCALE = 30\n\ndef guess(x):\n    return x * SCALE\n```"
    model = Players(idea=[probe] * 4 + [part(40)], experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=6", "limits.heuristic_s=2")
    search(folder, model, run=practised, offers=PRACTICE)
    asked = [text for _, text, _ in model.asked]
    shown = (
        "'look', scored 10 on practice instances, where the best program so far scores 94; "
        "about 0.3 s on 8 instances, which comes to about 3 s when it is scored; 2 s are allowed, "
        "so that it may run out of time."
    )
    assert [text.count(shown) for text in asked] == [0, 1, 2, 3, 1, 0]  # what no prompt of a round had, the next has


def test_a_search_at_one_size_probes_and_sweeps_at_that_size(begun, tmp_path: Path) -> None:
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,15\n```python\n{SCALED}```"
    model = Players(idea=["PROBE: look\n```python\ndef guess(x):\n    return 1\n```", reply], experiment="no")
    folder = begun(*ACTIONS, "budget.model_calls=2", "problem_size=50")
    folder = replace(
        folder, problem=replace(folder.problem, about=replace(folder.problem.about, sizes={"val": [20, 50]}))
    )
    jobs: list[Job] = []
    search(folder, model, run=lambda job: jobs.append(job) or practised(job), offers=PRACTICE)
    assert {job.problem_size for job in jobs if job.mode == "practice"} == {50}
    assert "8 practice instances of each size (50)" in model.prompts("idea")[0]


def test_a_run_of_an_earlier_version_probes_and_sweeps_on_training_instances(begun) -> None:
    model = Players(idea=["PROBE: look\n" + guess("1"), part(40)], experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=3", "strategy.practice=null")
    jobs: list[Job] = []
    search(folder, model, run=lambda job: jobs.append(job) or practised(job), offers=PRACTICE)
    assert "practice" not in {job.mode for job in jobs}
    assert "practice" not in model.prompts("idea")[1]


@pytest.mark.parametrize(
    ("source", "sizes", "expected"),
    [("parent", (50,), 6.0), ("child", (50,), 3.0), ("child", (50, 100), 0.5), ("child", (20,), None)],
)
def test_the_time_of_a_program_that_was_not_scored_is_that_of_its_parent_in_proportion(
    source: str, sizes: tuple[int, ...], expected: float | None
) -> None:
    metrics = {"heuristic_seconds": 6.0, "places_seconds": {"size 50": 1.0, "size 100": 5.0}}
    parent = Elite(id="1.0", source="parent", score=1.0, features=None, metrics=metrics)
    present = SweepRow({"A": 1.0}, 1.0, 0.5, 1.0)
    result = SweepResult((present,), Direction.MINIMIZE, source, 1.0, subset=Subset(sizes))
    run = SimpleNamespace(settings=SimpleNamespace(strategy=SimpleNamespace(experiment_s=30.0)))
    shown = SweepRow({"A": 2.0}, 1.0, 0.5, 1.0)
    assert expected_seconds(cast("RoundContext", run), source, parent, result, shown) == expected


@pytest.mark.parametrize(
    ("counts", "setting", "roles"),
    [
        ({"instances_done": 8}, 0.5, ["idea", "debug", "code"]),
        ({"instances_done": 2}, 0.5, ["idea", "code"]),
        ({"instances_done": 8}, "null", ["idea", "code"]),
        (
            {"instances_done": 0, "instances_in_step": 10, "decisions_done": 80, "decisions_planned": 100},
            0.5,
            ["idea", "debug", "code"],
        ),
    ],
)
def test_a_program_that_nearly_ends_in_time_is_repaired_once(
    begun, counts: dict[str, int], setting: object, roles: list[str]
) -> None:
    """One that did 8 of 10 instances, or of 10 decisions, gets its times; one that did 2 of 10 is given up."""
    metrics = {"places_seconds": {"size 20": 0.5, "size 100": 2.5}, **counts, "instances_planned": 10}

    def late(job: Job) -> Evaluation:
        if "return 60" in job.source:
            return Evaluation(Status.TIMEOUT, message="too slow", metrics=metrics, wall_s=0.1)
        return scored(job)

    model = Players(idea=part(60, "slow"), debug=guess("70"), code=part(80), experiment=part(50))
    folder = begun(
        *ACTIONS,
        "budget.evaluations=5",
        "or_agent.wave=1",
        "limits.heuristic_s=3",
        f"or_agent.timeout_repaired={setting}",
    )
    search(folder, model, run=late)
    asked = [role for role, _, _ in model.asked]
    assert asked[: len(roles) - 1] == roles[:-1]
    assert asked.count("debug") == roles.count("debug")
    for prompt in model.prompts("debug"):
        assert "Time of the function (size 20 about 0.5 s; size 100 about 3 s)." in prompt
    later = model.prompts(asked[len(roles) - 1])[0]
    assert "slow: timeout: too slow (size 20 about 0.5 s; size 100 about 3 s)" in later


def test_a_program_with_a_work_parameter_that_ran_out_of_time_is_scored_with_less_work(begun) -> None:
    def late(job: Job) -> Evaluation:
        if "SCALE = 30" in job.source and job.mode is None:
            metrics = {"heuristic_seconds": 2.0, "instances_done": 9, "instances_planned": 10}
            return Evaluation(Status.TIMEOUT, message="too slow", metrics=metrics, wall_s=0.1)
        return scored(job)

    program = SCALED.replace("SCALE = 3  # param: SCALE = 3, 1..40", "SCALE = 30  # param: SCALE work")
    model = Players(idea=f"PROGRAM: scaled\nIDEA: Scale it.\n```python\n{program}```", debug=guess("70"))
    folder = begun(*ACTIONS, "budget.model_calls=1", "or_agent.wave=1", "limits.heuristic_s=2")
    search(folder, model, run=late)
    with Store(folder.database, readonly=True) as store:
        late_one, lowered = [record.candidate for record in store.records(1)]
    assert late_one.evaluation.status is Status.TIMEOUT
    # 80 % of 2 s, at 2 s for 9 of 10 instances
    assert "SCALE = 21 " in lowered.source
    assert lowered.evaluation.status is Status.OK
    assert not model.prompts("debug")


def test_lists_of_programs_tell_the_time_of_each(begun) -> None:
    def timed(job: Job) -> Evaluation:
        evaluation = scored(job)
        return replace(evaluation, metrics={**evaluation.metrics, "heuristic_seconds": 7.0249})

    values = iter((50, 40, 60, 61, 62))
    model = Players(**dict.fromkeys(("idea", "experiment", "code"), lambda prompt: part(next(values), "a step")))
    folder = begun(*ACTIONS, "budget.evaluations=6", "or_agent.wave=1", "or_agent.programs=1", "strategy.patience=9")
    search(folder, model, run=timed)
    assert re.search(r"^- [\d.]+: a step(; .+)?; about 7 s$", model.asked[-1][1], re.MULTILINE)


def test_what_a_probe_printed_before_it_failed_is_shown(begun) -> None:
    def fail(job: Job) -> Evaluation:
        if "return 1\n" in job.source:
            return Evaluation(Status.ERROR, message="no more", log="one of two: 17", traceback="line 3", wall_s=0.1)
        return scored(job)

    probe = "PROBE: look\n```python\ndef guess(x):\n    return 1\n```"
    model = Players(idea=[probe, part(40)], experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=3")
    search(folder, model, run=fail)
    asked = model.prompts("idea")[1]
    assert "Probe 1.1, 'look', printed:\none of two: 17\nerror: no more\nline 3\n" in asked


def test_a_program_is_made_from_a_probe_by_edits(begun) -> None:
    probe = "PROBE: look\n```python\ndef helper(x):\n    return 3 * x\n\n\ndef guess(x):\n    return helper(x) + 1\n```"
    program = "PROGRAM: built\nFROM: probe 1.1\nIDEA: Add more.\n```python\ndef helper(x):\n    return 30 * x\n```"
    model = Players(idea=[probe, program], experiment=part(50), code=part(60))
    folder = begun(*ACTIONS, "budget.model_calls=2")
    search(folder, model, offers=PRACTICE)
    with Store(folder.database, readonly=True) as store:
        candidates = [record.candidate for record in store.records(1)]
    (built,) = [candidate for candidate in candidates if not candidate.is_probe]
    assert built.source.split() == [
        "def",
        "helper(x):",
        "return",
        "30",
        "*",
        "x",
        "def",
        "guess(x):",
        "return",
        "helper(x)",
        "+",
        "1",
    ]
    assert built.score == abs(100 - 91)
    assert "FROM:" in model.prompts("idea")[1]
    assert "FROM:" not in model.prompts("idea")[0]


@pytest.mark.parametrize("limit", [60, 100, 1000])
def test_what_is_cut_from_a_text_is_whole_lines(limit: int) -> None:
    lines = [f"row {number:3}: {number**2}" for number in range(60)]
    shown = head_and_tail("\n".join(lines), limit).split("\n")
    assert [line for line in shown if line not in lines] == [shown[len(shown) // 2]] or limit == 1000
    assert head_and_tail("x" * 500, 100).count("x") == 100


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_uses_line_copies_functions_of_earlier_programs(
    begun, in_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reply defines a helper; the second calls it without repeating it, the third names one that is unknown."""
    if in_thread:
        # As where the parser does not answer at once.
        monkeypatch.setattr("oragent.llm.dialogue.run_briefly", asyncio.to_thread)
    first = "PROGRAM: first\nIDEA: A helper.\n```python\ndef near(x):\n    return 50\n\n\ndef guess(x):\n    return near(x)\n```"
    using = "PROGRAM: second\nIDEA: The same.\nUSES: {}\n```python\ndef guess(x):\n    return near(x) + 10\n```"
    model = Players(idea=first, experiment=using.format("near"), code=using.format("far"))
    folder = begun(*ACTIONS, "budget.model_calls=2", "model.style=strong")
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        records = [record for record in store.records() if record.round]
    assert [record.score for record in records] == [50, 40]
    assert "def near(x):" in records[1].source
    prompts = [prompt for _, prompt, _ in model.asked]
    assert "USES:" not in prompts[0]
    assert "- `near(x)`" in prompts[1]


WRONG_EDIT = """PROGRAM: off by one
IDEA: One less.
<<<<<<< SEARCH
    return helper (y) * 2
=======
    return helper(x) - 1
>>>>>>> REPLACE
"""
RIGHT_EDIT = WRONG_EDIT.replace("return helper (y) * 2", "return x * 2.0").replace("helper(x) - 1", "x * 3.0")


def test_parts_that_cannot_be_used_are_repaired_by_one_call_and_every_part_is_accounted_for(begun) -> None:
    broken = "PROGRAM: broken\n```python\ndef guess(x:\n```"
    reply = f"{part(60, 'sixty')}\n{WRONG_EDIT}\n{broken}\n{part('1 / 0', 'raises')}"
    model = Players(idea=reply, experiment=part(70, "later"), repair=f"{RIGHT_EDIT}\n{broken}", debug="no")
    folder = begun(*ACTIONS, "budget.model_calls=5", "strategy.window=1")
    search(folder, model)
    (repair,) = model.prompts("repair")[:1]
    assert "off by one" in repair
    assert "broken" in repair
    assert "sixty" not in repair
    assert "    return x * 2.0" in repair
    with Store(folder.database, readonly=True) as store:
        first = [record.candidate for record in store.records(1)]
    assert [candidate.score for candidate in first if candidate.score is not None] == [40, 91]
    # The repaired program belongs to the call that wrote it.
    assert {candidate.call for candidate in first if candidate.score == 91} != {first[0].call}
    (later,) = model.prompts("experiment")[:1]
    section = later.partition("What became of the programs")[2].partition("\n\n")[0]
    assert [line.partition(":")[0] for line in section.split("\n")[1:] if line.startswith("- ")] == [
        "- 'sixty'",
        "- 'off by one'",
        "- 'broken'",
        "- 'raises'",
    ]
    assert "syntax error" in section
    assert "division by zero" in section


def test_an_edit_that_stays_wrong_is_shown_with_the_nearest_lines_and_stored_without_a_torn_sentence(begun) -> None:
    wrong = WRONG_EDIT.replace("return helper (y) * 2", "return x * 2.5")
    model = Players(idea=f"{part(60)}\n{wrong}", experiment=part(70), repair=wrong)
    folder = begun(*ACTIONS, "budget.model_calls=4", "strategy.window=1")
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        (rejected,) = [one.candidate for one in store.records(1) if one.candidate.evaluation.status is Status.REJECTED]
    assert "nearest lines" not in rejected.evaluation.message
    assert rejected.evaluation.message.startswith("SEARCH/REPLACE block 1 of 1")
    (later,) = model.prompts("experiment")[:1]
    section = later.partition("What became of the programs")[2].partition("\n\n")[0]
    assert "nearest lines of the parent are:\n    return x * 2.0" in section
    # Only the first prompt after the reply shows it.
    assert all("off by one" not in prompt for prompt in model.prompts("experiment")[1:])


def test_without_repairs_a_part_that_cannot_be_used_costs_no_call(begun) -> None:
    model = Players(idea=f"{part(60)}\n{WRONG_EDIT}", experiment=part(70))
    search(begun(*ACTIONS, "budget.model_calls=2", "or_agent.debugging=0"), model)
    assert not model.prompts("repair")


def test_a_sweep_without_a_call_leaves_the_amount_of_work_to_the_time_limit_and_is_reported(begun, monkeypatch) -> None:
    monkeypatch.setattr(
        "oragent.search.strategies.or_agent.action_round.choose_action",
        lambda run, available: ActionKind.SWEEP if ActionKind.SWEEP in available else ActionKind.EDIT,
    )
    program = SCALED.replace("def helper", "WORK = 5  # param: WORK work\n\n\ndef helper").replace(
        "SCALE\n", "SCALE + 0 * WORK\n"
    )
    reply = f"PROGRAM: scaled\nIDEA: Scale it.\n```python\n{program}```"
    only_work = f"PROGRAM: work\nIDEA: No number.\n```python\n{program.replace('  # param: SCALE = 3, 1..40', '')}```"

    def timed(job: Job) -> Evaluation:
        count = int(job.arguments[-1].partition("=")[2]) if job.mode == "practice" else 64
        work = int(job.source.partition("WORK = ")[2].split()[0]) if "WORK" in job.source else 1
        seconds = {"heuristic_seconds": 0.1 * work * count / 64, "instances_done": count}
        evaluation = scored(job)
        return replace(evaluation, metrics={**evaluation.metrics, **seconds}, cpu_s=0.01)

    def sweeps(first: str) -> tuple[list[str], str]:
        model = Players(idea=first, experiment=[first, part(34)])
        folder = begun(*ACTIONS, "budget.model_calls=2", "limits.heuristic_s=2", "strategy.window=1")
        search(folder, model, run=timed, offers=PRACTICE)
        actions = [record["action"] for record in notes(folder, "action")]
        return actions, model.asked[1][1]

    actions, prompt = sweeps(reply)
    assert actions[:2] == ["edit", "sweep"]
    table = prompt.partition("What a sweep of 'scaled'")[2]
    assert "- SCALE = " in table
    # 0.1 s for each unit of work: the 18 of the program take nine tenths of 2 s with each setting
    assert "WORK" not in table.partition("Improve the program")[0]
    assert "about 2 s when scored" in table
    assert sweeps(only_work)[0] == ["edit", "edit"]
