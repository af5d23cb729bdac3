"""Parts of the or-agent that need no run: texts of prompts, trees of ideas, notes, and the allocation of budgets."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.candidate import Candidate, Elite
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent import allocation, prompt_sections, tree
from oragent.search.strategies.or_agent.allocation import (
    EXPLORATION,
    FLOOR,
    PRIORS,
    TOKENS_AN_EVALUATION,
    WINDOW,
    ActionKind,
    ActionRecord,
    deal_experiments,
    experiment_turns,
    gain_per_token,
    latest_records,
    upper_bound,
)
from oragent.search.strategies.or_agent.prompt_sections import head_and_tail, list_steps, tree_section
from oragent.search.strategies.or_agent.tree import (
    ExperimentStep,
    Idea,
    IdeaNode,
    IdeaTree,
    MemoryNote,
    NodeNote,
    TreeNote,
    final_memory,
)


def elite(score: float, name: str = "1.0") -> Elite:
    return Elite(id=name, source=f"x = {score}", score=score, features=None, metrics={})


def candidate(evaluation: Evaluation) -> Candidate:
    return Candidate(
        source="x = 1", fingerprint="f", parents=(), origin="code", island=0, call=None, evaluation=evaluation
    )


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefgh", 6, "abc\n[... 2 characters left out ...]\nfgh"),
        # Whole lines, if their ends lie in the outer half of a part.
        ("aaaa\nbbbbbbbb\ncccc", 12, "aaaa\n[... 10 characters left out ...]\ncccc"),
        ("aaa\nbbbbbbbbbb\nccc", 12, "aaa\nbb\n[... 9 characters left out ...]\nccc"),
        ("aaa\nbbbbbbbbb\ncc", 12, "aaa\nbb\n[... 4 characters left out ...]\nbbb\ncc"),
        ("aaaaaabbbb\nccccc", 12, "aaaaaa\n[... 5 characters left out ...]\nccccc"),
        ("x" * 3000, 1000, "x" * 500 + "\n[... 2,000 characters left out ...]\n" + "x" * 500),
    ],
)
def test_head_and_tail_of_a_text_are_whole_lines_if_possible(text: str, limit: int, shown: str) -> None:
    assert head_and_tail(text, limit) == shown


@given(st.text("ab\n", max_size=60), st.integers(2, 40))
def test_what_is_left_out_between_head_and_tail_is_counted(text: str, limit: int) -> None:
    shown = head_and_tail(text, limit)
    if len(text) <= limit:
        assert shown == text
        return
    head, _, rest = shown.partition("\n[... ")
    count, _, tail = rest.partition(" characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= limit
    blank = len(text) - int(count) - len(head) - len(tail)
    # White space at the cut is neither shown nor counted.
    assert 0 <= blank <= sum(character == "\n" for character in text)


def step(kind: str = "edit", better: bool = True, lesson: str = "") -> ExperimentStep:
    return ExperimentStep(kind, "a  change", "score 2", better, lesson)


def test_steps_are_numbered_and_say_whether_they_were_kept() -> None:
    steps = [step(lesson="Good."), step("tune", False), step("probe"), step("instrument", False)]
    assert list_steps(steps).split("\n") == [
        "1. edit: a change -> score 2, kept. Good.",
        "2. tune: a change -> score 2, taken back.",
        "3. probe: a change -> score 2.",
        "4. instrument: a change -> score 2.",
    ]
    assert list_steps([]) == "(none yet)"


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ("a\nb\nc", 2, "b"),
        ("a\nb\nc", 3, "c"),
        ("a\nb\nc", 1, "a"),
        ("a\nb\nb", 2, ""),
        ("a\n \nc", 2, ""),
        ("a", 2, ""),
        ("a", 0, ""),
    ],
)
def test_the_failing_line_is_shown_if_it_can_be_found_by_its_text(source: str, line: int, text: str) -> None:
    trace = f'  File "/a/heuristic.py", line {line}, in f\n'
    assert prompt_sections.failing_line(source, Evaluation(Status.ERROR, traceback=trace)) == text


def test_an_outcome_is_a_score_or_a_short_failure() -> None:
    assert prompt_sections.describe_outcome(candidate(Evaluation(Status.OK, 1234567.8))) == "score 1.23457e+06"
    assert prompt_sections.describe_outcome(candidate(Evaluation(Status.OK, 0.0))) == "score 0"
    failed = prompt_sections.describe_outcome(candidate(Evaluation(Status.ERROR, message="no\nway " * 90)))
    assert failed.startswith("error: no way no way")
    assert len(failed) <= len("error: ") + prompt_sections.MAX_MESSAGE


@pytest.mark.parametrize(
    "count", [prompt_sections.MAX_LINES - 1, prompt_sections.MAX_LINES, prompt_sections.MAX_LINES + 1]
)
def test_lines_beyond_the_limit_are_counted(count: int) -> None:
    before, after = "x", "\n".join(f"a{number}" for number in range(count))
    shown = prompt_sections.describe_change(before, f"x\n{after}").splitlines()
    failed = prompt_sections.describe_failure(Evaluation(Status.ERROR, message="m", traceback=after)).splitlines()
    left = count - prompt_sections.MAX_LINES
    if left > 0:
        assert shown[-1] == failed[1] == "(1 more line is not shown)"
    assert len(shown) == min(count, prompt_sections.MAX_LINES) + (left > 0)
    assert len(failed) == 1 + len(shown)
    assert (shown[0], failed[-1]) == ("+a0", f"a{count - 1}")


@pytest.mark.parametrize("is_later", [False, True])
def test_a_comparison_of_long_programs_says_where_it_ends(is_later: bool) -> None:
    most = prompt_sections.MAX_COMPARED
    for lines, is_said in ((most, False), (most + 1, True)):
        texts = ["a", "a" + "\nb" * (lines - 1)]
        shown = prompt_sections.describe_change(*(texts if is_later else texts[::-1]))
        assert ("is not compared" in shown) is is_said


@pytest.mark.parametrize(
    ("output", "log", "metrics", "score", "shown"),
    [
        ("steps: 3\nhello\n\nrun_seconds: 2\n__SANDBOX_RESULT__\nlater", "", {"steps": 3}, 1.0, "hello"),
        ("hello", "logged", {}, 1.0, "hello\nlogged"),
        ("hello", "logged", {}, None, "hello"),
        ("hello\n__SANDBOX_ERROR__\n{}", "", {}, None, "hello"),
        ("steps: 3", "", {"steps": 3}, 1.0, ""),
    ],
)
def test_what_an_evaluation_printed_is_shown_without_figures_of_the_prompt(
    output: str, log: str, metrics: dict[str, Any], score: float | None, shown: str
) -> None:
    status = Status.OK if score is not None else Status.ERROR
    evaluation = Evaluation(status, score, metrics=metrics, output=output, log=log)
    section = prompt_sections.printed_section(candidate(evaluation), 100)
    assert section == (f"What its last evaluation printed:\n```\n{shown}\n```" if shown else "")


# --- trees -----------------------------------------------------------------------------------------------------------


def node(number: int, parent: int, score: float | None, state: str, depth: int = 1, **fields: Any) -> IdeaNode:
    solution = None if score is None else elite(score, f"1.{number}")
    return IdeaNode(
        depth, parent, Idea(f"idea {number}", f"text {number}"), solution, state=state, number=number, **fields
    )


def make_tree(nodes: list[IdeaNode], depth: int = 3, **options: Any) -> IdeaTree:
    made = IdeaTree([elite(7.0, "0.0"), elite(5.0, "0.1")], lambda score: -score, depth, **options)
    made.nodes += nodes
    return made


def test_a_tree_is_shown_with_each_idea_below_its_parent() -> None:
    nodes = [
        node(1, 0, 3.0, "grown", report="A report."),
        node(2, 0, None, "failed", failure="error: no"),
        node(3, 1, 2.0, "open", depth=2),
        node(4, 3, 4.0, "worse", depth=3),
        node(5, 0, None, "untried"),
    ]
    assert tree_section(make_tree(nodes)).split("\n") == [
        "Idea 1: idea 1 -> score 3, was taken further. A report.",
        "  Idea 3: idea 3 -> score 2, may be taken further.",
        "    Idea 4: idea 4 -> score 4, was not better and is dropped.",
        "Idea 2: idea 2 -> error: no, failed.",
        "Idea 5: idea 5, was not tried.",
    ]
    assert tree_section(make_tree([])) == "(none yet)"


def test_reports_of_the_latest_ideas_alone_are_shown() -> None:
    count = prompt_sections.MAX_NODES + 2
    nodes = [node(number, 0, 3.0, "closed", report=f"Report {number}.") for number in range(1, count + 1)]
    shown = tree_section(make_tree(nodes)).split("\n")
    assert ["Report" in line for line in shown] == [False] * 2 + [True] * prompt_sections.MAX_NODES


def test_other_ideas_are_listed_best_first_with_their_last_lesson() -> None:
    class Run:
        class archive:
            fitness = staticmethod(lambda score: -score)

    steps = [step(lesson="First."), step(lesson="Second."), step()]
    nodes = [
        node(1, 0, 3.0, "open", steps=steps),
        node(2, 0, None, "failed", failure="error: no"),
        node(3, 0, 1.0, "open", steps=steps[:1]),
        node(4, 0, None, "untried"),
    ]
    assert prompt_sections.others_section(Run, nodes).split("\n")[1:] == [
        "- idea 3 -> score 1, after 1 experiment. First.",
        "- idea 1 -> score 3, after 3 experiments. Second.",
        "- idea 2 -> error: no, as it was coded.",
    ]
    assert prompt_sections.others_section(Run, nodes[3:]) == ""
    many = [node(number, 0, float(number), "open") for number in range(1, 9)]
    lines = prompt_sections.others_section(Run, many).split("\n")[1:]
    assert [line[7] for line in lines] == [str(number) for number in range(1, 1 + prompt_sections.MAX_OTHERS)]


@pytest.mark.parametrize("all_at_root", [False, True])
def test_children_are_kept_if_they_are_better_or_all_below_the_root(all_at_root: bool) -> None:
    grown = make_tree([], depth=2, all_at_root=all_at_root)
    root = grown.nodes[0]
    assert [elite.id for elite in grown.programs(root)] == ["0.0", "0.1"]
    grown.grow(root, [node(0, 0, score, "open") for score in (4.0, 5.0, None)] + [node(0, 0, 1.0, "untried")])
    assert [child.state for child in grown.nodes] == [
        "grown",
        "open",
        "open" if all_at_root else "worse",
        "failed",
        "untried",
    ]
    assert [child.better for child in grown.nodes] == [False, True, False, False, False]
    first = grown.best_open()
    assert first is grown.nodes[1]
    assert [elite.score for elite in grown.programs(first)] == [4.0]
    assert [elite.id for elite in grown.programs(grown.nodes[3])] == ["0.0", "0.1"]
    # At the maximum depth a better child is closed, and a worse one is dropped.
    grown.grow(first, [node(0, 1, score, "open", depth=2) for score in (3.0, 4.5)])
    assert [child.state for child in grown.nodes[5:]] == ["closed", "worse"]
    assert first.state == "grown"
    assert [child.number for child in grown.children(first)] == [5, 6]
    leaves = [5] if not all_at_root else [2, 5]
    assert [leaf.number for leaf in grown.leaves()] == leaves
    if all_at_root:
        assert grown.best_open() is grown.nodes[2]
        grown.grow(grown.nodes[2], [node(0, 2, 9.0, "open", depth=2)])
        assert grown.nodes[2].state == "closed"
    assert grown.best_open() is None


def test_of_equal_open_leaves_the_oldest_comes_first() -> None:
    grown = make_tree([node(1, 0, None, "open"), node(2, 0, 4.0, "open"), node(3, 0, 4.0, "open")])
    grown.nodes[0].state = "grown"
    assert grown.best_open() is grown.nodes[2]
    assert grown.better(elite(4.0), None)
    assert not grown.better(None, elite(4.0))
    assert not grown.better(None, None)
    assert not grown.better(elite(4.0), elite(4.0))


def test_the_note_of_a_tree_is_read_again() -> None:
    steps = [step(), step("probe", lesson="A lesson.")]
    nodes = [
        node(1, 0, 3.0, "open", steps=steps, report="A report."),
        node(2, 1, None, "failed", depth=2, failure="no"),
    ]
    written = make_tree(nodes).note(True, {"1.1": "4.2"})
    assert TreeNote.load(written.dump()) == written
    assert written.start == ("0.0", "0.1")
    root, first, second = written.nodes
    assert (root.parent, root.title, root.idea, root.candidate, root.score) == (None, "", "", "0.1", 5.0)
    assert first == NodeNote(1, 0, "idea 1", "text 1", "open", "4.2", 3.0, "", tuple(steps), "A report.", False)
    assert (second.parent, second.candidate, second.score, second.failure) == (1, None, None, "no")
    memory = MemoryNote("text", 4, (6, 7))
    assert MemoryNote.load(memory.dump()) == memory
    assert MemoryNote.load('{"text": "t", "horizon": 1}') == MemoryNote("t", 1)


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"elitist": true, "start": []}', '{"elitist": true, "start": [], "nodes": {}}',
     '{"elitist": true, "start": "a", "nodes": []}', '{"elitist": true, "start": [], "nodes": [{}]}', "{"],
)  # fmt: skip
def test_a_damaged_note_is_refused(text: str) -> None:
    with pytest.raises((ValueError,)):
        TreeNote.load(text)
    with pytest.raises((ValueError,)):
        MemoryNote.load(text.replace("elitist", "text"))
    with pytest.raises((ValueError,)):
        ActionRecord.load(text)


def note(number: int, kind: str, text: str) -> RoundNote:
    return RoundNote(round=number, kind=kind, text=text)


def tree_note(number: int, *nodes: IdeaNode) -> RoundNote:
    return note(number, tree.TREE, make_tree([*nodes]).note(False, {}).dump())


def test_the_memory_of_a_run_ends_with_reports_and_lessons_that_it_lacks() -> None:
    notes = [
        note(1, tree.MEMORY, MemoryNote("Old.", 0).dump()),
        tree_note(2, node(1, 0, 9.0, "open", report="Known.")),
        note(3, tree.MEMORY, MemoryNote(" Fifty is low.\n", 2, (4,)).dump()),
        tree_note(3, node(1, 0, 3.25, "open", report="New."), node(2, 0, None, "failed", failure="no way")),
        tree_note(4, node(1, 0, 8.0, "open", report="Known beyond.")),
        tree_note(5, node(1, 0, None, "untried"), node(2, 0, 0.0, "open"), node(3, 0, None, "open")),
        note(6, tree.LESSON, "Twice."),
        note(7, tree.LESSON, "Once."),
        note(8, tree.LESSON, "Twice."),
    ]
    assert final_memory(notes).split("\n") == [
        "Fifty is low.",
        "- idea 1: score 3.25. New.",
        "- idea 2: no way.",
        "- idea 2: score 0.",
        "- Twice.",
        "- Once.",
    ]
    assert final_memory([]) == ""
    lessons = [note(number, tree.LESSON, f"Lesson {number}.") for number in range(tree.MAX_LESSONS + 2)]
    assert final_memory(lessons).split("\n")[0] == "- Lesson 2."


# --- allocation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("experiments", "sizes"),
    [(0, []), (1, [1]), (2, [1, 1]), (3, [1, 2]), (4, [1, 2, 1]), (8, [2, 2, 2, 2]), (9, [2, 3, 3, 1]), (20, [5] * 4)],
)
def test_turns_have_about_a_quarter_of_the_experiments(experiments: int, sizes: list[int]) -> None:
    assert experiment_turns(experiments) == sizes


@pytest.mark.parametrize(
    ("gains", "each", "dealt"),
    [
        ([0.0, 0.0, 0.0], 3, [3, 3, 3]),
        ([1.0, 0.0, 3.0], 3, [FLOOR + 1, FLOOR, FLOOR + 5]),
        ([1e-9, 2e-9], 4, [FLOOR + 2, FLOOR + 4]),
        ([5.0, 1.0], 0, [0, 0]),
        ([5.0, 1.0], 1, [1, 1]),
        ([1.0, 1.0, 1.0], 2, [2, 2, 2]),
    ],
)
def test_experiments_are_dealt_in_proportion_to_gains_above_a_floor(
    gains: list[float], each: int, dealt: list[int]
) -> None:
    found = deal_experiments(gains, each)
    assert sum(found) == each * len(gains)
    assert found == pytest.approx(dealt, abs=1)
    assert min(found) >= min(FLOOR, each)


def action(kind: ActionKind, gain: float, tokens: int = 800, programs: int = 1) -> ActionRecord:
    return ActionRecord(kind, programs, tokens, gain)


def test_an_action_costs_its_tokens_and_those_of_its_evaluations() -> None:
    assert action(ActionKind.EDIT, 0.0, 500, 3).cost == 500 + 3 * TOKENS_AN_EVALUATION
    assert action(ActionKind.SWEEP, 0.0, 0, 0).cost == TOKENS_AN_EVALUATION
    records = [action(ActionKind.EDIT, 3.0), action(ActionKind.EDIT, 1.0, 800, 6)]
    assert gain_per_token(records) == 4.0 / (1000 + 2000)
    assert gain_per_token([]) == 0.0
    assert ActionRecord.load(records[1].dump()) == records[1]


def test_the_bound_of_an_action_is_its_relative_value_and_its_uncertainty() -> None:
    """Auer et al. 2002, with a prior that counts as one round."""
    records = [action(ActionKind.EDIT, 4.0), action(ActionKind.EDIT, 2.0), action(ActionKind.IDEA, 1.0)]
    available = [ActionKind.EDIT, ActionKind.IDEA, ActionKind.RESTART]
    for kind, number, share in ((ActionKind.EDIT, 2, 1.0), (ActionKind.IDEA, 1, 1 / 3), (ActionKind.RESTART, 0, 0.0)):
        value = (PRIORS[kind] + number * share) / (number + 1)
        wanted = value + EXPLORATION * math.sqrt(math.log(4) / (number + 1))
        assert upper_bound(kind, records, available) == pytest.approx(wanted)
    idle = [action(ActionKind.EDIT, 0.0)]
    assert upper_bound(ActionKind.EDIT, idle, available) == pytest.approx(
        0.5 + EXPLORATION * math.sqrt(math.log(2) / 2)
    )


def test_the_opening_and_old_rounds_do_not_count() -> None:
    records = [action(ActionKind.EDIT, float(number)) for number in range(WINDOW + 3)]
    assert latest_records([action(ActionKind.OPENING, 9.0), *records]) == records[-WINDOW:]
    assert latest_records([*records[:2], action(ActionKind.OPENING, 9.0)]) == records[:2]


class Run:
    """Notes of actions."""

    def __init__(self, *records: ActionRecord) -> None:
        self.notes = [note(number, allocation.ACTION, record.dump()) for number, record in enumerate(records)]

    def recall(self, kind: str) -> list[RoundNote]:
        return [found for found in self.notes if found.kind == kind]


def test_the_first_action_is_the_opening_and_the_next_have_the_largest_bound() -> None:
    available = [ActionKind.IDEA, ActionKind.EDIT, ActionKind.RESTART]
    opening = action(ActionKind.OPENING, 1.0)
    assert allocation.choose_action(Run(), available) is ActionKind.OPENING
    assert allocation.choose_action(Run(opening), available) is ActionKind.EDIT
    useless = [action(ActionKind.EDIT, 0.0)] * 8
    good = action(ActionKind.RESTART, 1.0)
    assert allocation.choose_action(Run(opening, *useless), available) is ActionKind.IDEA
    assert allocation.choose_action(Run(opening, *useless, good, good), available) is ActionKind.RESTART
    assert allocation.choose_action(Run(opening, *useless), [ActionKind.EDIT]) is ActionKind.EDIT
