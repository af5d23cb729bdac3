"""A writer for tests whose replies depend on what its prompt shows, so that better prompts earn better programs.

Programs return a vector and say how much effort they take. The writer begins from the best program that it is shown,
takes places of another one, steps far where the best score that it is told of is far ahead and near where it is not,
and uses the time that it sees is left; where it is told nothing of these, it guesses.
"""

import json
import math
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem
from oragent.llm.model import Reply, Request
from oragent.search.config import build_config
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder, make_folder
from tests.search.players import search

__all__ = ["LANDSCAPES", "Attentive", "Judge", "played"]

SIZE, LIMIT_S = 6, 10.0
PROGRAM = "def place(x):\n    effort = {effort!r}\n    return {vector!r}\n"
SHOWN = re.compile(
    r"score (?P<score>-?[\d.]+(?:e[-+]?\d+)?)(?P<figures>[^\n]*):\n(?:Idea: [^\n]*\n)?```(?:python|diff)\n(?P<program>.*?)```",
    re.S,
)
BODY = re.compile(r"effort = ([\d.]+)\s+return (\[[^\]]*\])")
NAMED = "{numbers}\n\n\ndef place(x):\n    effort = {effort!r}\n    return [{names}]\n"
NUMBER = re.compile(r"^X\d = (-?[\d.]+(?:e[-+]?\d+)?)", re.M)
SPAN = 2.0  # half the width of the range of a named number
COUNT = re.compile(r"\b[Ww]rite (?:up to (\d+) programs|one program)\b")
GONE = re.compile(r"^(?:-.*\n|@@.*\n|[+ ])", re.M)  # what changes of a program have beside the lines that it has now
TIME = re.compile(r"CPU time of the function (?:about|less than) ([\d.]+) s")
STANDING = re.compile(r"the best score is (-?[\d.]+)")
LEFT = re.compile(r"Left of the budget: (\d+) model calls")
ROW = re.compile(r"^- -?[\d.]+: ", re.M)
DESCRIPTION = """
title: Find a place
description: Write place(x), which returns a list of six numbers; how far they are from where they should be, is the score.
function: place
direction: minimize
timeout_s: 60
heuristic_s: 10
"""


def bowl(place: list[float]) -> float:
    """One optimum, each axis by itself, some of them steeper."""
    return sum(number * (value - 3) ** 2 / 3 for number, value in enumerate(place, 1))


def valley(place: list[float]) -> float:
    """As Rosenbrock's function, whose way to the optimum is bent."""
    return sum((after - before**2 / 3) ** 2 + (3 - before) ** 2 for before, after in pairwise(place))


def hills(place: list[float]) -> float:
    """Rastrigin's function, with an optimum in every hollow."""
    return sum((value - 2) ** 2 + 4 * (1 - math.cos(math.pi * (value - 2))) for value in place)


LANDSCAPES: dict[str, Callable[[list[float]], float]] = {"bowl": bowl, "valley": valley, "hills": hills}


def read_place(source: str) -> tuple[float, list[float]] | None:
    """Return effort and place of a program, whose numbers may have names; None where it has none."""
    found = BODY.search(source)
    if found is None:
        return None
    if (numbers := NUMBER.findall(source)) and "X0" in found[2]:
        return (float(found[1]), [float(number) for number in numbers]) if len(numbers) == SIZE else None
    return float(found[1]), json.loads(found[2])


def name_numbers(program: str) -> str:
    """Return a program whose numbers have names and ranges that can be searched."""
    found = read_place(program)
    assert found is not None
    effort, place = found
    numbers = [
        f"X{at} = {value!r}  # param: X{at} = {value!r}, {value - SPAN:.3f}..{value + SPAN:.3f}"
        for at, value in enumerate(place)
    ]
    return NAMED.format(
        numbers="\n".join(numbers), effort=effort, names=", ".join(f"X{at}" for at in range(len(place)))
    )


class Judge:
    """Scores a place, better the more effort was taken, and ends who took more time than there is."""

    def __init__(self, landscape: Callable[[list[float]], float]) -> None:
        self._landscape = landscape

    def __call__(self, job: Job) -> Evaluation:
        found = read_place(job.source)
        if found is None:
            return Evaluation(Status.ERROR, message="there is no place", wall_s=0.001)
        effort, place = found
        if len(place) != SIZE:
            return Evaluation(Status.INVALID, message=f"expected {SIZE} numbers, got {len(place)}", wall_s=0.001)
        if effort > LIMIT_S:
            return Evaluation(Status.TIMEOUT, message=f"your function took {effort:g} s of {LIMIT_S:g} s", wall_s=0.001)
        score = self._landscape(place) + 20.0 / effort
        return Evaluation(Status.OK, round(score, 6), None, {"heuristic_seconds": effort}, wall_s=0.001)


class Attentive:
    """Plays all roles of all strategies; where it sweeps, its programs declare ranges of their numbers."""

    def __init__(self, seed: int, lines: int = 0, *, sweeps: bool = False) -> None:
        self._seed, self._lines, self._sweeps = seed, lines, sweeps

    async def __call__(self, request: Request) -> Reply:
        text = "\n".join(message.content for message in request.messages)
        rng = random.Random(f"{self._seed} {request.key} {text}")
        answer = self._answer(request.role, text, rng)
        return Reply(
            answer, model="attentive", tokens_in=len(text) // 4, tokens_out=len(answer) // 4, money=0.0, seconds=0.0
        )

    def _answer(self, role: str, text: str, rng: random.Random) -> str:
        count = COUNT.search(text)
        if "PROGRAM: its title" in text and count:
            parts = [
                f"PROGRAM: move {rng.randrange(999)}\nIDEA: Move.\n{self._fenced(text, rng)}"
                for _ in range(int(count[1] or 1))
            ]
            return "\n\n".join(["LESSON: Step less far where it did not help.", *parts])
        if role == "idea":
            wanted = re.search(r"exactly (\d+)", text)
            ideas = [
                {"title": f"move {rng.randrange(999)}", "idea": f"Move towards {rng.randrange(9999)}."}
                for _ in range(int(wanted[1]) if wanted else 1)
            ]
            return f"```json\n{json.dumps(ideas)}\n```"
        if "reflect" in role or "describe" in role or role == "lead":
            return "Step less far where it did not help."
        program = self._fenced(text, rng)
        if role == "experiment":
            return f"THOUGHT: a step\nACTION: EDIT\n{program}"
        return program if role in ("code", "debug", "repair", "") else f"{{Move on.}}\n{program}"

    def _fenced(self, text: str, rng: random.Random) -> str:
        """A program in a fence; where long ones are written, an edit of the two lines that count if that will do."""
        program = self._written(text, rng)
        base = [found["program"] for found in SHOWN.finditer(text) if _is_base(text, found.start())]
        old, new = BODY.search(base[-1]) if base else None, BODY.search(program)
        if self._lines and old and new and "SEARCH" in text and rng.random() < 0.7:
            return f"<<<<<<< SEARCH\n    {old[0]}\n=======\n    {new[0]}\n>>>>>>> REPLACE\n"
        return f"```python\n{self._helpers(rng)}{name_numbers(program) if self._sweeps else program}```"

    def _helpers(self, rng: random.Random) -> str:
        """Functions as long as those of real programs, of one of nine kinds."""
        if not self._lines:
            return ""
        kind = rng.randrange(9)
        body = "".join(f"    total += values[{at}] * weight_{kind}_{at} - {kind}\n" for at in range(self._lines))
        return f"def improve_{kind}(values, total):\n{body}    return total\n\n\n"

    def _written(self, text: str, rng: random.Random) -> str:
        shown = [found.groupdict() for found in SHOWN.finditer(text)]
        shown = [
            found | {"program": GONE.sub("", found["program"])} if found["program"].startswith("@@") else found
            for found in shown
        ]
        shown = [found for found in shown if read_place(found["program"])]
        if not shown:
            return PROGRAM.format(effort=1.0, vector=[round(rng.uniform(-6, 12), 3) for _ in range(SIZE)])
        ranked = sorted(shown, key=lambda found: float(found["score"]))
        body = read_place(ranked[0]["program"])
        assert body is not None
        (effort, place), score = body, float(ranked[0]["score"])
        if len(ranked) > 1 and rng.random() < 0.4:
            other = read_place(rng.choice(ranked[1:])["program"])
            assert other is not None
            place = [rng.choice(pair) for pair in zip(place, other[1], strict=True)]
        reach = _reach(text, score, rng)
        moved = rng.sample(range(SIZE), 2 if len(ROW.findall(text)) > 2 else rng.randint(1, SIZE))
        place = [round(value + rng.gauss(0, reach) * (at in moved), 3) for at, value in enumerate(place)]
        return PROGRAM.format(effort=_effort(ranked[0]["figures"], effort, rng), vector=place)


def _is_base(text: str, place: int) -> bool:
    """Whether the line with a score is that of the program to be changed."""
    return text[text.rfind("\n", 0, place) + 1 : place].startswith(("The program", "The best program,"))


def _reach(text: str, score: float, rng: random.Random) -> float:
    """How far to step: by the best score and what is left where the prompt tells them, else anyhow."""
    told = STANDING.search(text)
    if told is None:
        return rng.choice((0.2, 1.0, 4.0))
    left = LEFT.search(text)
    share = min(1.0, int(left[1]) / 40) if left else 1.0  # the end draws near: finer steps
    return 3.0 if score > 1.5 * float(told[1]) + 1 else 0.2 * math.sqrt(max(score, 0.01) * share)


def _effort(figures: str, effort: float, rng: random.Random) -> float:
    """How much effort to take: as much as the time allows where the prompt tells it, else perhaps twice as much."""
    told = TIME.search(figures)
    if told is None:
        return round(effort * rng.choice((1, 1, 2)), 3)
    return round(effort * min(2.0, max(1.0, 0.6 * LIMIT_S / max(float(told[1]), 0.1))), 3)


def played(
    root: Path,
    landscape: str,
    strategy: str,
    calls: int,
    seed: int,
    *settings: str,
    lines: int = 0,
    sweeps: bool = False,
) -> tuple[RunFolder, SearchResult]:
    """Let the writer play a strategy for so many calls, with further settings and programs that have so many more lines."""
    place = root / "problems" / landscape
    if not place.is_dir():
        place.mkdir(parents=True)
        (place / "problem.yaml").write_text(DESCRIPTION)
        (place / "eval.py").write_text("import oragent.harness\n")
        (place / "heuristic.py").write_text(PROGRAM.format(effort=1.0, vector=[0.0] * SIZE))
    chosen = f"strategy.name={strategy}", "model.name=attentive", f"budget.model_calls={calls}", f"seed={seed}"
    more = ("budget.evaluations=null", "strategy.tuning=0", "archive.islands=2")
    folder = make_folder(
        root, root / "outputs", load_problem(place), build_config({}, (*chosen, *more, *settings), "test")
    )
    return folder, search(folder, Attentive(seed, lines, sweeps=sweeps), run=Judge(LANDSCAPES[landscape]))
