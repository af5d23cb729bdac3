"""What a person sees of a search while it runs: in a terminal, and in a file."""

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from rich.cells import cell_len

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent._base.terminal import Terminal
from oragent.cli.display import Best, Display, DisplayedJob, Scene, format_clock
from oragent.evaluation import Evaluation
from oragent.search.candidate import Candidate, Elite
from oragent.search.events import Progress
from tests.cli.test_cli import environment, only_run
from tests.unseen import unseen

WIDTHS = [20, 80, 139, 140, 200]
SCENE = Scene(
    title="tsp_aco by or_agent",
    budget=Budget(evaluations=400, seconds=1800, money=2.0),
    spent=Spent(143, 61, 120_345, 0.4123, seconds=602.0),
    best=Best(5.98123, "0.82 lower than the seed (11.8 %)", "17.2 by jitter of 12.0, after 139 evaluations", 44.0),
    evaluations=(DisplayedJob("jitter of 12.0, round 17", 31.2), DisplayedJob("check of program 18.0", 4.0)),
    calls=(DisplayedJob("idea, round 19", 12.0),),
    ends=Counter({Status.OK: 98, Status.ERROR: 7, Status.TIMEOUT: 3, Status.SCREENED: 4}),
    cpu_s=1180.0,
)


def candidate(origin: str, score: float, parents: tuple[str, ...] = ()) -> Candidate:
    found = Evaluation(Status.OK, score, cpu_s=1.5)
    return Candidate(
        source=origin, fingerprint=origin, parents=parents, origin=origin, island=0, call=None, evaluation=found
    )


def elite(name: str, score: float, source: str) -> Elite:
    return Elite(id=name, source=source, score=score, features=None, metrics={})


SEED = elite("0.0", 10.0, "seed")
FIRST = Progress(Spent(1), SEED, SEED, [candidate("seed", 10.0)])


def drawn(scene: Scene, width: int) -> list[str]:
    out = io.StringIO()
    Terminal(file=out, width=width, color_system=None, force_terminal=True).print(scene)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_as_wide_as_there_is_room_and_no_wider(width: int) -> None:
    lines = drawn(SCENE, width)
    assert max(map(cell_len, lines)) <= width
    if width not in (80, 200):
        return
    for words in (
        "5.98123", "0.82 lower than the seed (11.8 %)", "17.2 by jitter of 12.0", "44 s ago",  # the best, and whence
        "31 s  jitter of 12.0, round 17", "12 s  asks idea, round 19",  # what runs, and for how long
        "10 failed (7 error, 3 timeout), 4 screened", "$0.4123 of $2.00", "143 of 400 evaluations",
        "about 18 min 01 s left, by evaluations",
    ):  # fmt: skip
        assert words in "\n".join(lines), words


def test_a_wide_terminal_has_what_runs_beside_the_rest() -> None:
    assert any("5.98123" in line and "2 evaluations and 1 model call" in line for line in drawn(SCENE, 200))
    assert not any("5.98123" in line and "evaluation" in line for line in drawn(SCENE, 80))


def test_of_much_that_runs_the_oldest_are_shown() -> None:
    many = replace(SCENE, evaluations=[DisplayedJob(f"number {n}", 60.0 - n) for n in range(64)], calls=())
    text = "\n".join(drawn(many, 80))
    assert "number 5" in text
    assert "number 6" not in text
    assert "and 58 more" in text


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (Budget(seconds=60.0), Spent(seconds=15.2), "44 s left, by time"),
        (Budget(seconds=60.0, evaluations=9), Spent(evaluations=8, seconds=16.0), "about 2 s left, by evaluations"),
        (Budget(seconds=60.0, evaluations=900), Spent(evaluations=8, seconds=16.0), "44 s left, by time"),
        (Budget(money=2.0), Spent(money=1.0, seconds=30.0), "about 30 s left, by money"),
        (Budget(), Spent(seconds=30.0), "no telling yet how long"),
        (Budget(evaluations=None), Spent(seconds=30.0), "no bound: until Ctrl-C"),
        (Budget(seconds=60.0), Spent(seconds=61.0), "its time used up, up to 6 s for what is under way"),
    ],
)
def test_the_time_left_is_that_of_the_bound_that_will_bind(budget: Budget, spent: Spent, said: str) -> None:
    assert replace(SCENE, budget=budget, spent=spent).remaining_text == said


def test_before_anything_is_evaluated_it_says_what_is_started() -> None:
    display = Display(Terminal(file=io.StringIO(), width=80), "toy by gp", Budget(), Direction.MINIMIZE, live=False)
    assert "starting: the evaluator" in "\n".join(drawn(display.make_scene(), 80))
    display(FIRST)
    assert "starting" not in "\n".join(drawn(display.make_scene(), 80))


def test_before_the_seed_has_a_score_it_says_what_is_awaited() -> None:
    early = Scene("toy by gp", Budget(), evaluations=(DisplayedJob("seed", 12.0),))
    text = "\n".join(drawn(early, 80))
    assert "the seed heuristic is being scored" in text
    assert "12 s  seed" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_that_a_candidate_wrote_drives_the_terminal(width: int) -> None:
    nasty = "\x1b]0;title\x07\x1b[2J\u202e[bold]\n\n\nmany lines"
    best = Best(1.0, nasty, nasty, 0.0)
    scene = replace(
        SCENE, title=nasty, best=best, evaluations=(DisplayedJob(nasty, 1.0),), calls=(DisplayedJob(nasty, 1.0),)
    )
    assert not any(unseen(line) for line in drawn(scene, width))
    assert "many lines" in str(drawn(scene, 200))
    out = io.StringIO()
    display = Display(Terminal(file=out, width=width), nasty, Budget(), Direction.MINIMIZE, live=False)
    display(FIRST)
    display(
        Progress(Spent(2), SEED, elite("1.0", 9.0, nasty), [replace(candidate("x", 9.0), origin=nasty, source=nasty)])
    )
    display.show_note(nasty)
    display.print_line()
    assert not any(unseen(line) for line in out.getvalue().splitlines())
    assert "[bold]" in out.getvalue()
    assert len(out.getvalue().splitlines()) == 4


def test_a_new_best_is_said_to_be_by_what_made_it_and_not_by_what_came_last() -> None:
    out = io.StringIO()
    display = Display(Terminal(file=out, width=80), "toy by gp", Budget(), Direction.MINIMIZE, live=False)
    display(FIRST)
    others = [candidate("code", 9.0), candidate("tune", 7.0, ("0.0",)), candidate("late", 9.0)]
    display(Progress(Spent(4), SEED, elite("1.2", 7.0, "tune"), others))  # a probe was before it
    assert out.getvalue().splitlines() == ["     1  10  the seed", "     4  7  3 lower than the seed (30 %), by tune"]
    scene = display.make_scene()
    assert scene.best is not None
    assert scene.best.origin == "1.2 by tune of 0.0, after 4 evaluations"
    assert (scene.ends[Status.OK], scene.cpu_s) == (4, 6.0)


@pytest.mark.parametrize(
    ("second", "tried", "expected"),
    [
        # By 1 on each of 24 instances; the same among too many programs; by 5 on half of them, worse by 3 on the others.
        ([9.0] * 24, 4, "above"), ([9.0] * 24, 10**9, "needed"), ([5.0, 13.0] * 12, 4, "within"), ([], 4, ""),
    ],
)  # fmt: skip
def test_a_step_of_the_leader_is_named_above_or_within_the_noise(
    second: list[float], tried: int, expected: str
) -> None:
    out = io.StringIO()
    display = Display(Terminal(file=out, width=120), "toy by gp", Budget(), Direction.MINIMIZE, live=False)
    seed = replace(SEED, metrics={"by_instance": {"20": [10.0] * 24}})
    leader = replace(elite("1.0", 9.0, "code"), metrics={"by_instance": {"20": second}} if second else {})
    display(Progress(Spent(1), seed, seed, [candidate("seed", 10.0)]))
    display(Progress(Spent(tried), seed, leader, [candidate("code", 9.0)]))
    first, last = out.getvalue().splitlines()
    assert "noise" not in first
    assert [word for word in ("above", "within", "needed") if word in last] == [expected] * bool(expected)


def test_a_leader_that_was_compared_on_new_instances_is_named_by_these() -> None:
    out = io.StringIO()
    display = Display(Terminal(file=out, width=120), "toy by gp", Budget(), Direction.MINIMIZE, live=False)
    display(FIRST)
    display(Progress(Spent(8), SEED, elite("1.0", 9.0, "code"), [candidate("code", 9.0)], shown_on=96))
    assert "shown on 96 new instances" in out.getvalue()
    assert "noise" not in out.getvalue()


def test_what_has_ended_in_rounds_that_go_on_is_told() -> None:
    """The opening of an agent takes an hour and is one round."""

    class Opening:
        under_way, is_ending, spent, leader = ((), ()), False, Spent(evaluations=14), None
        experiment_s, sweeps, pause = 0.0, (), None

    display = Display(Terminal(file=io.StringIO(), width=80), "toy by or_agent", Budget(), Direction.MINIMIZE)
    display(FIRST)
    with display.watch_engine(cast("Any", Opening())):
        assert display.make_scene().tried_text == "1 candidate, none failed, 13 more in unfinished rounds"
    assert display.make_scene().tried_text == "1 candidate, none failed"


def test_the_last_frame_shows_what_was_spent() -> None:
    class Ended:
        under_way, is_ending, spent = ((), ()), True, Spent(evaluations=150, seconds=20.0)
        experiment_s, sweeps, pause = 0.0, (), None

    display = Display(Terminal(file=io.StringIO(), width=80), "toy by gp", Budget(evaluations=150), Direction.MINIMIZE)
    with display.watch_engine(cast("Any", Ended())):
        pass
    last = display.make_scene()
    assert (last.spent_text, last.remaining_text) == ("150 of 150 evaluations, 20 s", "ended")
    assert replace(last, cpu_s=0.42).spent_text.endswith(", 0.42 s of CPU time")
    frame = "\n".join(drawn(last, 80))
    assert "no telling" not in frame
    assert "starting" not in frame


def test_where_there_is_no_terminal_there_are_plain_lines() -> None:
    out = io.StringIO()
    with Display(Terminal(file=out, width=80), "toy by gp", Budget(), Direction.MINIMIZE, line_s=0.01) as display:
        display(FIRST)
        while "10, 1 candidate" not in out.getvalue():
            time.sleep(0.01)
    assert "\x1b" not in out.getvalue()
    assert "0 s: best 10, 1 candidate, none failed; nothing under way; no telling yet how long" in out.getvalue()


def test_a_colour_that_is_forced_into_a_pipe_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = io.StringIO()
    with Display(Terminal(file=out), "toy by gp", Budget(), Direction.MINIMIZE):
        pass
    assert out.getvalue() == ""


@pytest.mark.parametrize(("seconds", "said"), [(0.0, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")])
def test_a_clock_shows_whole_units(seconds: float, said: str) -> None:
    assert format_clock(seconds) == said


@pytest.mark.slow
def test_in_a_real_terminal_it_is_live_and_ctrl_c_works(toy: Path, tmp_path: Path) -> None:
    text = (toy / "eval.py").read_text()
    slow = "if value > 6.5:\n    import time; time.sleep(3)\n"
    (toy / "eval.py").write_text(text.replace("print(format_result", f"{slow}print(format_result"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "oragent", "run", "toy", "--seconds", "300", "--workers", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = _read(ours, lambda said: re.search(r"2 evaluations.*[1-9] s  ", said, re.DOTALL) is not None)
    assert "toy by gp" in said
    assert re.search(r"2\d\d s|4 min \d\d s left, by time", said)
    process.send_signal(signal.SIGINT)
    said = _read(ours, lambda said: "go on" in said)
    assert process.wait(60) == 130
    assert "ending 2 evaluations, once more to end now" in said
    assert "stopped by Ctrl-C" in said
    assert f"oragent resume {only_run(tmp_path)}" in said
    assert said.rfind("\x1b[?25l") < said.rfind("\x1b[?25h")  # the cursor is there again
    os.close(ours)


def _read(terminal: int, until) -> str:
    """What a terminal shows, until it shows what is waited for."""
    said, give_up = "", time.monotonic() + 60
    while not until(said) and time.monotonic() < give_up:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                said += os.read(terminal, 65536).decode(errors="replace")
            except OSError:  # it was closed
                break
    return said


def test_a_best_whose_round_goes_on_is_shown() -> None:
    better = replace(FIRST.best, id="round 3", score=FIRST.best.score - 1)

    class Searching:
        under_way, is_ending, spent, leader = ((), ()), False, Spent(evaluations=14), better
        experiment_s, sweeps, pause = 75.0, (), None

    display = Display(Terminal(file=io.StringIO(), width=80), "toy by or_agent", Budget(), Direction.MINIMIZE)
    display(FIRST)
    with display.watch_engine(cast("Any", Searching())):
        line = str(display.make_scene())
        shown = " ".join(drawn(display.make_scene(), 80))
    assert f"best {better.score:.6g} (provisional), " in line
    assert "1 min 15 s of sweeps" in shown


def test_a_sweep_is_named_with_its_setting_and_its_runs_are_no_evaluations() -> None:
    sweep = DisplayedJob("sweep, round 3: setting 4 of 9, 12 of 60 CPU s", 5.0)
    runs = (DisplayedJob("experiment, sweep, round 3", 1.0), DisplayedJob("idea, round 4", 2.0))
    scene = replace(SCENE, evaluations=runs, calls=(), sweeps=(sweep,))
    assert f"{sweep.what} and 1 evaluation, the longest for 5 s" in str(scene)
    assert "1 experiment and 1 evaluation" in str(replace(scene, sweeps=()))


def test_a_pause_is_shown_with_the_way_on() -> None:
    paused = replace(SCENE, evaluations=(), calls=(), pause=DisplayedJob("paused by its user", 3.0))
    assert "; paused by its user; 'oragent steer RUN continue' goes on" in str(paused)
    assert "paused by its user" in "\n".join(drawn(paused, 80))
