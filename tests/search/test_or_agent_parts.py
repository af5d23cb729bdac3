"""The parts of a research round by themselves: tree, ideas, actions, constants, memory, prompts."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ReplyError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.candidate import Elite
from oragent.search.strategies.constants import Range, find_constants, with_values
from oragent.search.strategies.or_agent import reflection
from oragent.search.strategies.or_agent.actions import _read_ranges
from oragent.search.strategies.or_agent.ideas import read_ideas
from oragent.search.strategies.or_agent.prompt_sections import (
    describe_change,
    describe_failure,
    drop_docstrings,
    failing_line,
)
from oragent.search.strategies.or_agent.tree import Idea, IdeaNode, IdeaTree
from tests.search.players import QUIET, Players, golden, golden_prompt, guess, notes, search

PROGRAM = """import numpy as np
ALPHA = 2.5

def heuristics(distance_matrix):
    k = max(3, distance_matrix.shape[0] // 5)
    near = np.sort(distance_matrix, axis=1)[:, 1:k]
    score = 1.0 / (distance_matrix + 1e-9) ** ALPHA
    return score - -0.5 * near.mean(axis=1)[:, None]
"""


def elite(score: float) -> Elite:
    return Elite(id=f"e{score}", source="def f(): pass", score=score, features=None, metrics={})


def child(tree: IdeaTree, parent: IdeaNode, score: float | None) -> IdeaNode:
    return IdeaNode(parent.depth + 1, parent.number, Idea("t", "i"), None if score is None else elite(score))


def grown(scores: dict[int, list[float | None]], depth: int = 3) -> IdeaTree:
    """A tree of fitness: the children of each node by its number, in the order of opening."""
    tree = IdeaTree([elite(0)], lambda score: score, depth)
    for number, values in scores.items():
        tree.grow(tree.nodes[number], [child(tree, tree.nodes[number], value) for value in values])
    return tree


def test_the_best_open_leaf_comes_next_wherever_it_is() -> None:
    tree = grown({0: [1, 3], 2: [4, 3.5, 2], 3: [None, 3.9]})
    assert [node.state for node in tree.nodes] == [
        "grown",
        "open",
        "grown",
        "closed",
        "open",
        "worse",
        "failed",
        "worse",
    ]
    assert tree.best_open() is tree.nodes[4]


def test_when_nothing_is_better_the_search_goes_back_until_nothing_is_open() -> None:
    tree = grown({0: [1, 3], 2: [2], 1: [None]})
    assert tree.best_open() is None
    assert [node.state for node in tree.nodes] == ["grown", "closed", "closed", "worse", "failed"]


def test_a_child_as_good_as_its_parent_is_not_better() -> None:
    assert grown({0: [0.0]}).nodes[1].state == "worse"


@given(
    st.lists(st.lists(st.one_of(st.none(), st.floats(0, 9)), max_size=3), min_size=1, max_size=12), st.integers(1, 4)
)
def test_a_tree_ends_and_its_open_leaves_are_better_than_all_above_them(opened, depth: int) -> None:
    tree = IdeaTree([elite(1)], lambda score: score, depth)
    for values in opened:
        leaf = tree.best_open()
        if leaf is None:
            break
        tree.grow(leaf, [child(tree, leaf, value) for value in values])
    for node in tree.nodes:
        assert node.depth <= depth
        if node.state == "open" and node.parent is not None:
            assert node.solution.score > tree.nodes[node.parent].solution.score


def test_a_dumped_tree_is_json_with_the_names_of_its_candidates() -> None:
    tree = grown({0: [2, None]})
    dumped = json.loads(tree.note(True, {"e2": "4.1"}).dump())
    assert dumped["start"] == ["e0"]
    assert [node["candidate"] for node in dumped["nodes"]] == ["e0", "4.1", None]
    assert [node["score"] for node in dumped["nodes"]] == [0, 2, None]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('[{"title": "a", "idea": "x"}, {"title": "b", "idea": "y"}]', ["a", "b"]),
        ('Sure!\n```json\n{"ideas": [{"name": "a", "description": "x"}]}\n```', ["a"]),
        ('{"title": "a", "idea": "x"}', ["a"]),
        ('["use 1/d", "use 1/d**2"]', ["use 1/d", "use 1/d**2"]),
        ('[{"Title": "a", "Idea": "x",}, {"nothing": 1}, 7,]', ["a"]),
        ('```json\n[{"title": "a", "idea": "x"}, {"title": "b", "idea": "cut o', ["a"]),
        ('[{"title": "a", "idea": "x"} {"title": "b", "idea": "no comma"}]', ["a", "b"]),
        ('[{"title": "1"}, {"title": "2"}, {"title": "3"}, {"title": "4"}]', ["1", "2", "3"]),
    ],
)
def test_ideas_are_read_from_what_models_make_of_json(text: str, titles: list[str]) -> None:
    assert [idea.title for idea in read_ideas(text, 3)] == titles


@pytest.mark.parametrize("text", ["no", "", "[]", "[1, 2]", '{"a": {}}', '[{"title": ""}]'])
def test_a_reply_without_ideas_is_refused_with_what_is_wanted(text: str) -> None:
    with pytest.raises(ReplyError):
        read_ideas(text, 2)


def test_the_constants_of_a_program_are_those_that_it_computes_with() -> None:
    found = find_constants(PROGRAM, "heuristics")
    assert [(c.number, c.value, c.whole) for c in found] == [
        (0, 2.5, False), (3, 1.0, False), (4, 0.5, False), (1, 3.0, True), (2, 5.0, True),
    ]  # fmt: skip
    assert found[0].line == "ALPHA = 2.5"


OFFERED = """
import numpy as np
WEIGHTS = (0.5, 2.5)
def f(x, n, distance):
    rng = np.random.default_rng(42)
    best, count = 1e18, 0
    for i in range(n // 3):
        count += 1
        best = min(best, distance[i, :5].sum() ** 1.7 + 0.3 * i)
    if best > 4.5:
        return best / (x + 1e-9)
    return rng.permutation(n)[:2] - 1000000
"""


def test_what_can_matter_is_offered_and_what_weighs_most_comes_first() -> None:
    offered = [(c.value, c.whole) for c in find_constants(OFFERED, "f")]
    assert offered[:3] == [(1.7, False), (0.3, False), (4.5, False)]  # exponent, factor, threshold
    assert {value for value, _ in offered} >= {0.5, 2.5, 3.0, 5.0}
    assert not {42.0, 1e18, 1e-9, 1e6} & {value for value, _ in offered}  # seed, sentinels, epsilon
    assert (1.0, True) not in offered  # a counter's step
    assert dict(offered)[3.0] is dict(offered)[5.0] is True
    numbers = {c.value: c.number for c in find_constants(OFFERED, "f")}
    changed = with_values(OFFERED, "f", {numbers[3.0]: 7.2, numbers[5.0]: 9.0, numbers[2.5]: 3.25, numbers[1.7]: -2.0})
    for part in ("range(n // 7)", ":9].sum() ** (-2", "WEIGHTS = (0.5, 3.25)", "default_rng(42)"):
        assert part in changed


def test_rewritten_constants_stand_where_they_stood_and_nothing_else_changes() -> None:
    changed = with_values(PROGRAM, "heuristics", {0: -3.0, 1: 4.4, 4: 0.123456})
    for part in ("ALPHA = -3.0", "max(4, distance", "- -0.123 *", "1.0 / (distance_matrix + 1e-09)", "[:, 1:k]"):
        assert part in changed
    assert sorted(c.value for c in find_constants(changed, "heuristics")) == [0.123, 1.0, 3.0, 4.0, 5.0]


@given(st.lists(st.floats(-99, 99), min_size=5, max_size=5))
def test_a_program_keeps_its_meaning_whatever_its_constants_become(values: list[float]) -> None:
    source = "ALPHA = 2.5\ndef f(x):\n    return -1.5 ** 2.0 - 3.5 * x ** -0.5 + ALPHA\n"
    names: dict = {}
    exec(with_values(source, "f", dict(enumerate([values[0], 1.5, 2.0, values[3], 0.5]))), names)
    alpha, factor = (float(f"{value:.3g}") for value in (values[0], values[3]))
    assert names["f"](4.0) == pytest.approx(-2.25 - factor * 0.5 + alpha)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [("0.5", "4", (0.5, 4.0)), ("", "", (0.625, 10.0)), ("4", "0.5", (0.625, 10.0)), ("0", "1e300", (0.625, 10.0))],
)
def test_a_range_that_is_none_is_a_factor_around_the_value(low: str, high: str, found: tuple[float, float]) -> None:
    made = Range.around(find_constants(PROGRAM, "heuristics")[0], low, high)
    assert (made.low, made.high) == found
    assert made.logarithmic == (found[1] >= 10)


def test_a_constant_of_zero_has_a_range_too() -> None:
    made = Range.around(find_constants("def f(x):\n    return x + 0.0\n", "f")[0])
    assert (made.low, made.high) == (-1.0, 1.0)


def test_a_long_text_is_cut_at_the_end_of_a_sentence_or_line() -> None:
    text = "One two three. Four five.\nSix seven eight nine."
    assert reflection._cut_words(text, 99) == text
    assert reflection._cut_words(text, 5) == "One two three. Four five."
    assert reflection._cut_words(text, 4) == "One two three."
    assert reflection._cut_words(text, 2) == "One two"


def memories(folder) -> list[dict]:
    return notes(folder, "memory")


def test_the_memory_begins_with_what_the_problem_knows_and_is_rewritten_after_enough_reports(begun, toy) -> None:
    (toy / "knowledge.md").write_text("Numbers count.")
    values = iter(np.linspace(50, 99, 400))
    model = Players(code=lambda prompt: guess(next(values)), lead=["Fifty is low.", "Sixty is better."])
    folder = begun(
        "model.name=m", *QUIET, "or_agent.reflection_period=3", "or_agent.depth=1", "budget.evaluations=9",
        "or_agent.elitist_period=99", "or_agent.opening_counts=true",
    )  # fmt: skip
    search(folder, model)
    ideas, (first, second) = model.prompts("idea"), model.prompts("lead")
    assert "What is known so far:\nNumbers count." in ideas[0]
    assert "Numbers count." in first
    assert first.count("- closer: from score") == 3
    assert "Fifty is low." in second
    assert second.count("- closer: from score") == 3
    assert [("Fifty is low." in text) for text in ideas[:6]] == [False, False, False, True, True, True]
    assert [memory["horizon"] for memory in memories(folder)] == [3, 6]


def test_the_memory_is_rewritten_in_elitist_rounds_whatever_is_pending(begun) -> None:
    values = iter(np.linspace(50, 99, 400))
    model = Players(code=lambda prompt: guess(next(values)))
    folder = begun("model.name=m", *QUIET, "or_agent.elitist_period=2", "or_agent.depth=1", "budget.evaluations=7")
    search(folder, model)
    assert [memory["horizon"] for memory in memories(folder)] == [1, 3, 5]


def test_of_the_rounds_in_flight_only_one_rewrites_and_no_report_is_lost(begun) -> None:
    values = iter(np.linspace(50, 99, 400))
    model = Players(code=lambda prompt: guess(next(values)), idea=lambda prompt: f'["idea {next(values):.4f}"]')
    folder = begun(
        "model.name=m", *QUIET, "strategy.window=2", "or_agent.reflection_period=4", "or_agent.depth=1",
        "budget.evaluations=20", "or_agent.elitist_period=99",
    )  # fmt: skip
    search(folder, model)
    rounds = model.prompts("lead")
    told = [line for prompt in rounds for line in prompt.split("\n") if line.startswith("- idea")]
    assert len(rounds) >= 2
    assert len(told) == len(set(told)) >= 8


def test_a_memory_that_is_too_long_is_compressed_and_at_last_cut(begun) -> None:
    values = iter(np.linspace(50, 99, 400))
    long = "Fifty is too low for this. " * 30
    model = Players(
        code=lambda prompt: guess(next(values)),
        lead=long,
        reflect=lambda prompt: long if prompt.startswith("Shorten") else "Learned.",
    )
    folder = begun(
        "model.name=m", *QUIET, "or_agent.elitist_period=2", "or_agent.depth=1", "or_agent.memory_words=20",
        "budget.evaluations=4",
    )  # fmt: skip
    search(folder, model)
    assert "at most 20 words" in next(text for text in model.prompts("reflect") if text.startswith("Shorten"))
    assert (
        memories(folder)[0]["text"]
        == "Fifty is too low for this. Fifty is too low for this. Fifty is too low for this."
    )


def test_the_same_idea_twice_is_one_and_an_expression_turned_round_is_another() -> None:
    texts = ["Use `x - y`.", "use x - y", "Use `y - x`.", "Use 2 * x", "Use 2.0 * x"]
    found = read_ideas(json.dumps([{"title": f"t{n}", "idea": text} for n, text in enumerate(texts)]), 9)
    assert [idea.title for idea in found] == ["t0", "t2", "t3", "t4"]


def test_ideas_are_found_though_quotes_and_brackets_are_missing() -> None:
    nested = '[{"title": "a", "idea": "1 / x"}, {"title": "b", "idea": "2 / x", {"title": "c", "idea": "say \\"x\\""}}'
    assert [idea.title for idea in read_ideas(nested, 4)] == ["a", "b", "c"]
    unquoted = '```json\n[{\n "title": "a threshold",\n "idea": "Use `x < 3`\n}]\n```'
    assert read_ideas(unquoted, 2) == [Idea("a threshold", "Use `x < 3`")]
    with pytest.raises(ReplyError):  # cut off in the middle of a sentence
        read_ideas('[{"title": "a threshold", "idea": "Use x wher', 2)


DOCUMENTED = '''def guess(x):
    """Guess.

    Returns:
        a number like 100.
    """
    def half(y):
        "Half of it."
        return y / 2  # a comment stays

    return x * 2 + half(x)
'''


def test_a_program_is_shown_to_who_rewrites_it_without_docstrings_and_does_what_it_did() -> None:
    bare = drop_docstrings(DOCUMENTED)
    assert "Returns" not in bare
    assert "Half of it" not in bare
    assert "# a comment stays" in bare
    for source in (DOCUMENTED, bare):
        space: dict = {}
        exec(source, space)
        assert space["guess"](2) == 5


@pytest.mark.parametrize(
    "source",
    [
        'def f(x): "Twice."; return 2 * x\n',
        'def f(x):\n    "Twice."; return 2 * x\n',
        'def f(x):\n    "Twice."\n',
        "x = 1\n",
    ],
)
def test_a_docstring_that_shares_its_line_or_is_all_there_is_stays(source: str) -> None:
    assert drop_docstrings(source) == source


def test_who_writes_or_mends_a_program_is_told_what_the_seed_says_of_its_function(begun, toy) -> None:
    (toy / "heuristic.py").write_text(DOCUMENTED)
    model = Players(code=guess("1 / 0"), debug=guess(70))
    search(begun("model.name=m", *QUIET, "budget.model_calls=3"), model)
    for role in ("code", "debug"):
        assert '"""' not in model.prompts(role)[0]
    assert len(model.systems) == 1  # the same bytes in each prompt, so that servers read them once
    assert "What `guess` gets and must return:\nGuess.\n\nReturns:\n    a number like 100.\n" in min(model.systems)


def test_a_program_without_numbers_is_not_offered_to_be_tuned(begun) -> None:
    model = Players(code=guess("x"))
    search(begun("model.name=m", *QUIET, "budget.model_calls=6"), model)
    assert "return x\n" in model.prompts("experiment")[0]
    assert "TUNE" not in model.prompts("experiment")[0]


@pytest.mark.parametrize(
    ("style", "lines", "edits"), [("small", 40, False), ("small", 41, True), ("strong", 2, True), ("strong", 41, True)]
)
def test_a_small_model_writes_out_a_short_program_to_change_it(begun, style: str, lines: int, edits: bool) -> None:
    body = "".join(f"    a{number} = {number}\n" for number in range(lines - 2))
    model = Players(code=f"```python\ndef guess(x):\n{body}    return 50\n```")
    search(begun("model.name=m", *QUIET, "budget.model_calls=6", f"model.style={style}"), model)
    prompt = model.prompts("experiment")[0]
    assert ("<<<<<<< SEARCH" in prompt) == edits
    assert ("ACTION: EDIT\n```python\nthe whole program\n```" in prompt) != edits


@pytest.mark.slow
@pytest.mark.parametrize("style", ["small", "strong"])
def test_prompts_have_their_sections_and_figures(begun, toy, style: str) -> None:
    """The last prompt of every kind; to write them anew, set ORAGENT_WRITE_GOLDEN and read the difference."""
    (toy / "knowledge.md").write_text("Numbers below 200 are enough.\n")
    numbers = iter(range(51, 99))
    probe = f"THOUGHT: see x\nACTION: PROBE\n{guess('50')}".replace("    return", "    print(x)\n    return")
    actions = iter([f"THOUGHT: lower\nACTION: EDIT\n{guess(40)}", probe, "What?"])
    model = Players(
        idea=['[{"title": "fifty", "idea": "Return 50."}]', "none", '[{"title": "far", "idea": "Fail."}]'],
        repair='[{"title": "closer", "idea": "Return a number nearer to 100."}]',
        code=lambda prompt: guess("1 / 0" if "Fail" in prompt else 50 if "fifty" in prompt else next(numbers)),
        debug=lambda prompt: guess(next(numbers)),
        experiment=lambda prompt: next(actions, "ACTION: STOP"),
        lead="- fifty is low " * 60,
    )
    folder = begun(
        "model.name=m", *QUIET, "or_agent.elitist_period=3", "or_agent.depth=2", "or_agent.memory_words=40",
        "budget.model_calls=60", f"model.style={style}",
    )  # fmt: skip
    search(folder, model, built=lambda engine: setattr(engine._context, "packages", ("numpy", "numba")))
    kinds = {
        "idea": ("idea", ""), "idea_repair": ("repair", "JSON list"), "code": ("code", ""), "debug": ("debug", ""),
        "experiment": ("experiment", ", taken back."), "experiment_repair": ("repair", "ACTION"),
        "report": ("reflect", "A series of"), "memory": ("lead", ""), "compress": ("reflect", "Shorten"),
    }  # fmt: skip
    kinds |= {"lesson": ("reflect", "An experiment has ended")} if style == "small" else {}
    for kind, (role, part) in kinds.items():
        prompt = [text for text in model.prompts(role) if part in text][-1]
        golden_prompt(f"{style}/or_agent_{kind}", prompt)
    (said,) = model.systems
    golden("system", re.sub(r"Python 3\.\d+", "Python 3", said))


def test_a_comparison_that_is_cut_says_so() -> None:
    before, after = ("\n".join(f"{name}{number} = {number}" for number in range(30)) for name in "ab")
    lines = describe_change(before, after).splitlines()
    assert len(lines) == 41
    assert lines[-1] == "(20 more lines are not shown)"
    assert describe_change("a = 1", "a = 2") == "-a = 1\n+a = 2"
    assert describe_change("a = 1", "a = 1") == "(nothing)"
    assert describe_change("-- a\n@@ b", "c") == "--- a\n-@@ b\n+c"


def test_a_line_that_is_cut_says_so() -> None:
    shown = describe_change("a = 1", f"a = {'1 + ' * 100}1").splitlines()[-1]
    assert (len(shown), shown[-1]) == (200, "…")


def test_a_traceback_that_is_cut_says_so() -> None:
    failed = Evaluation(Status.ERROR, message="no", traceback="\n".join(f"line {n}" for n in range(50)))
    lines = describe_failure(failed).splitlines()
    assert lines[:3] == ["error: no", "(10 more lines are not shown)", "line 10"]
    assert lines[-1] == "line 49"


def test_the_line_that_failed_is_the_last_of_the_candidates_own() -> None:
    source = "import helper\n\ndef guess(x):\n    half = x / 0\n    return half + half\n\ndef more():\n    return half + half\n"

    def at(*numbers: int) -> str:
        places = [f'  File "some/heuristic.py", line {number}, in guess\n    ...\n' for number in numbers]
        trace = "".join(["Traceback:\n", *places, '  File "helper.py", line 1, in f\n', "ZeroDivisionError"])
        return failing_line(source, Evaluation(Status.ERROR, message="no", traceback=trace))

    assert at(5, 4) == "    half = x / 0"
    assert at(5) == "", "a line that stands there twice cannot be searched"
    assert [at(), at(0), at(2), at(99)] == [""] * 4


IDLE = """
WINDOW = 23
def f(x, rounds=40):
    best = -1
    r = 4096
    j = len(x)
    while j:
        j = x[j - 1] + 1
        r //= 64
    return x * 1.7 ** r + WINDOW + rounds
"""


def test_numbers_that_step_an_index_or_take_bits_apart_are_not_offered_and_named_ones_are() -> None:
    offered = [constant.value for constant in find_constants(IDLE, "f")]
    assert {1.7, 23, 40} <= set(offered)
    assert not {-1, 1, 64} & set(offered)


NAMED = """
WINDOW = 23  # param: WINDOW = 23, 5..60
RATE = 0.5  # param: RATE = 0.5, 0.01..1, log


def f(x):
    return WINDOW * x + RATE * 3.0 - 17.0  # a remark
"""


def test_declared_parameters_alone_are_tuned_by_their_names_and_the_text_stays(begun) -> None:
    window, rate = find_constants(NAMED, "f")
    assert (window.label, window.value, rate.label) == ("WINDOW", 23, "RATE")
    assert (Range.around(window).low, Range.around(window).high) == (5, 60)
    changed = with_values(NAMED, "f", {window.number: 30.4, rate.number: 0.25})
    assert "WINDOW = 30  # param: WINDOW = 30, 5..60" in changed
    assert "RATE = 0.25" in changed
    assert "# a remark" in changed
    chosen = _read_ranges("ACTION: TUNE\nWINDOW 10 40\nRATE", [window, rate])
    assert [(axis.constant.name, axis.low, axis.high) for axis in chosen] == [("WINDOW", 10, 40), ("RATE", 0.01, 1)]


@pytest.mark.slow
def test_tuning_is_not_offered_where_one_evaluation_is_left(begun) -> None:
    model = Players(code=guess("x * 31.0"), experiment="ACTION: STOP")
    search(begun("model.name=m", *QUIET, "model.style=strong", "budget.evaluations=4", "or_agent.depth=1"), model)
    assert model.prompts("experiment")
    assert not any("TUNE" in prompt for prompt in model.prompts("experiment"))


SWEPT = "STEP = 10  # param: STEP = 10, 1..90\n\n\ndef guess(x):\n    return x + STEP\n"


@pytest.mark.slow
def test_a_sweep_tries_declared_numbers_on_training_instances_and_scores_the_best(begun) -> None:
    steps = ["THOUGHT: more\nACTION: SWEEP\n`STEP = 10, 40, 80`", "LESSON: far is good\nACTION: STOP"]
    model = Players(code=f"```python\n{SWEPT}```", experiment=steps)
    settings = ("model.style=strong", "or_agent.depth=1", "or_agent.tuning_evaluations=0", "budget.evaluations=4")
    folder = begun("model.name=m", *QUIET, *settings)
    search(folder, model)
    first, second = model.prompts("experiment")[:2]
    assert "- SWEEP:" in first
    assert "values such as STEP=1,2,5, or a range such as STEP=1..90" in first
    latest = second[second.index("The latest sweep") :]
    assert latest.index("- STEP = 80: ") < min(latest.index("- STEP = 10: "), latest.index("- STEP = 40: "))
    steps = [step for tree in notes(folder, "tree") for node in tree["nodes"] for step in node["steps"]]
    assert steps[0]["kind"] == "sweep"
    assert steps[0]["change"] == "STEP=10,40,80"
    assert steps[0]["better"] is True
    assert "Changed since: sweep: STEP=10,40,80" in second  # the idea follows the change


LONG = "\n".join([f"STEP_{number} = {number}" for number in range(60)]) + "\n\n\ndef guess(x):\n    return {value}\n"


@pytest.mark.slow
@pytest.mark.parametrize(("style", "times"), [("strong", 1), ("small", 2)])
def test_the_code_of_relatives_is_sent_once_to_a_strong_model_and_the_others_as_changes(
    begun, style: str, times: int
) -> None:
    values = iter(range(30, 90))
    model = Players(
        code=lambda prompt: f"```python\n{LONG.format(value=next(values))}```",
        experiment=lambda prompt: f"ACTION: EDIT\n```python\n{LONG.format(value=next(values))}```",
    )
    folder = begun("model.name=m", f"model.style={style}", *QUIET, "or_agent.experiments=1", "budget.evaluations=14")
    search(folder, model)
    prompts = [*model.prompts("idea"), *model.prompts("code"), *model.prompts("experiment")]
    assert max(prompt.count("STEP_30 = 30\n") for prompt in prompts) == times
    assert style == "small" or any("+    return " in prompt and "@@" in prompt for prompt in prompts)
