"""The baselines ``hill_climb`` and ``one_shot``: what they show the model, and how far they get."""

from oragent._base.protocol import Status
from tests.search.players import guess
from tests.search.test_strategies import Says, records, search

ONE_SHOT = ("strategy.name=one_shot", "model.name=m")


def climb(begun, *settings: str):
    return begun("strategy.name=hill_climb", "model.name=m", "strategy.window=1", *settings)


def test_hill_climbing_shows_only_the_best_program_so_far(begun) -> None:
    model = Says(guess(50), guess(20), guess(70), guess(99))
    folder = climb(begun, "budget.evaluations=5")
    assert search(folder, model).progress.best.score == 1
    bodies = [prompt[-1] for prompt in model.asked]
    assert [[value for value in (50, 20, 70, 99) if f"return {value}" in body] for body in bodies[1:]] == [
        [50], [50], [70],
    ]  # fmt: skip
    assert all(body.count("Program ") == 1 for body in bodies)
    assert [record.candidate.parents for record in records(folder)[2:]] == [("1.0",), ("1.0",), ("3.0",)]


def test_hill_climbing_applies_an_edit_to_the_best_program(begun) -> None:
    edit = "<<<<<<< SEARCH\n    return 50\n=======\n    return 100\n>>>>>>> REPLACE"
    assert search(climb(begun, "budget.evaluations=3"), Says(guess(50), edit)).progress.best.score == 0


def test_one_shot_sees_every_result_in_one_conversation_and_begins_another_after_its_calls(begun) -> None:
    model = Says(guess(50), guess(70), guess("x / 0"), guess(98), guess(97))
    folder = begun(*ONE_SHOT, "budget.evaluations=6", "strategy.options.calls=4")
    assert search(folder, model).progress.best.score == 2
    assert [len(prompt) for prompt in model.asked] == [2, 4, 6, 8, 2]
    assert "score 50" in model.asked[1][-1]
    assert "Calls left: 3" in model.asked[1][-1]
    assert "division by zero" in model.asked[3][-1]
    assert "Best score so far: 30" in model.asked[3][-1]
    made = records(folder)
    assert [record.round for record in made] == [0, 1, 1, 1, 1, 2]
    assert [record.candidate.parents for record in made[1:]] == [(), ("1.0",), ("1.1",), ("1.2",), ()]


def test_one_shot_ends_a_conversation_when_the_model_is_done(begun) -> None:
    model = Says(guess(50), "DONE", guess(60), "**DONE**", guess(70))
    folder = begun(*ONE_SHOT, "budget.evaluations=4")
    search(folder, model)
    assert [record.round for record in records(folder)] == [0, 1, 2, 3]


def test_one_shot_refuses_to_be_done_before_the_first_program(begun) -> None:
    model = Says("DONE", guess(60))
    folder = begun(*ONE_SHOT, "budget.evaluations=2")
    search(folder, model)
    assert "cannot be used" in model.asked[1][-1]


def test_one_shot_runs_a_probe_without_an_evaluation(begun) -> None:
    probe = "PROBE\n```python\ndef guess(x):\n    print('seen', x)\n    return 1\n```"
    model = Says(probe, guess(99))
    folder = begun(*ONE_SHOT, "budget.evaluations=2")
    search(folder, model)
    made = records(folder)
    assert [record.candidate.is_probe for record in made] == [False, True, False]
    assert "printed" in model.asked[1][-1]
    plain = Says(probe, guess(99))
    search(begun(*ONE_SHOT, "budget.evaluations=2", "strategy.options.probes=false"), plain)
    assert "PROBE" not in plain.asked[0][-1]


def test_one_shot_drops_a_conversation_after_two_useless_replies(begun) -> None:
    model = Says(guess(50), "Hm.", "Hm again.", guess(99))
    folder = begun(*ONE_SHOT, "budget.evaluations=3")
    assert search(folder, model).complete
    rejected = [record for record in records(folder) if record.candidate.evaluation.status is Status.REJECTED]
    assert [record.round for record in rejected] == [1]
