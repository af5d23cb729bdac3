"""The ancestors of a program, as prompts list them."""

from types import SimpleNamespace
from typing import Any

import pytest

from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.journal import Moment
from oragent.search.prompting.programs import MAX_ANCESTORS, MAX_STEP_CHARACTERS, describe_lineage
from oragent.search.prompting.search_summary import TITLE, program_mark
from oragent.search.store import RoundNote
from tests.search.test_round_context import candidate


def source(number: int) -> str:
    return f"def guess(x):\n    return {number}\n"


def make_run(candidates: dict[str, Candidate], *solutions: Candidate, history: bool = True, titles: Any = ()) -> Any:
    records = [Committed(id=name, candidate=found, placed="NEW", elapsed_s=0.0) for name, found in candidates.items()]
    notes = [RoundNote(1, TITLE, f"{program_mark(text)} {title}") for text, title in titles]
    return SimpleNamespace(
        settings=SimpleNamespace(strategy=SimpleNamespace(history=history)),
        history=records, solutions=solutions, moment=Moment(), memory=notes, written=(), notes=[],
    )  # fmt: skip


def line(length: int) -> dict[str, Candidate]:
    """Programs of which each has the one before as its last parent, and the first as the other."""
    made = {"0.0": candidate("print 0", 100.0, source=source(0))}
    for number in range(1, length):
        parents = ("0.0", f"{number - 1}.0")
        made[f"{number}.0"] = candidate(f"print {number}", 100.0 - number, *parents, source=source(number))
    return made


def describe(candidates: dict[str, Candidate], name: str, **options: Any) -> list[str]:
    elite = Elite.of(candidates[name], id=name)
    return describe_lineage(make_run(candidates, **options), elite).split("\n")


@pytest.mark.parametrize("steps", [1, 2, MAX_ANCESTORS, MAX_ANCESTORS + 1])
def test_the_latest_steps_are_listed_oldest_first(steps: int) -> None:
    head, *lines = describe(line(steps + 1), f"{steps}.0")
    first = max(0, steps - MAX_ANCESTORS)
    assert lines == [f"- {100 - number} -> {99 - number}: return {number + 1}" for number in range(first, steps)]
    assert (str(MAX_ANCESTORS) in head) == (steps > MAX_ANCESTORS)


def test_a_program_without_ancestors_or_with_the_setting_off_has_no_list() -> None:
    assert describe(line(1), "0.0") == [""]
    assert describe(line(3), "2.0", history=False) == [""]


def test_failures_and_equal_texts_are_no_steps_and_a_circle_ends() -> None:
    made = line(4)
    made["1.0"] = candidate("print 1", None, "0.0", source=source(1))
    made["2.0"] = candidate("print 2", 98.0, "1.0", source=source(3))
    # The failure in between is left out, and of equal texts the later one counts.
    assert describe(made, "3.0") == ["How it came about:", "- 100 -> 97: return 3"]
    made["0.0"] = candidate("print 0", 100.0, "3.0", source=source(0))
    assert len(describe(made, "3.0")) == 2


def test_parents_of_the_same_round_and_titles_count() -> None:
    made, own = line(2), candidate("print own", 5.0, "1.0", source=source(9))
    run = make_run(made, own, titles=[(source(9), "t" * 999), (source(1), "first step")])
    lines = describe_lineage(run, Elite.of(own)).split("\n")[1:]
    assert lines == ["- 100 -> 99: first step", f"- 99 -> 5: {'t' * MAX_STEP_CHARACTERS}"]


def test_a_step_without_a_title_names_three_new_lines_or_what_is_gone() -> None:
    def step(before: str, after: str) -> str:
        made = {"0.0": candidate("a", 2.0, source=before), "1.0": candidate("b", 1.0, "0.0", source=after)}
        return describe(made, "1.0")[1].partition(": ")[2]

    assert step("a\n", "a\nb\nc\nd\ne\n") == "b; c; d"
    assert step("a\nb\nc\nd\ne\n", "a\n") == "without b; without c; without d"
    assert step("a\n", " a\n") == "another text"
