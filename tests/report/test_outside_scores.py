"""Scores outside of a search: with which limits and options, when they are made again, and what is read of a file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from oragent._base.direction import Direction
from oragent._base.errors import OragentError, ProblemError, StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.report import final_round, fresh, held_out, significance, solution_pictures
from oragent.report.final_round import Final, FinalistRank, read_final
from oragent.report.fresh import Sets, collect_sets, read_fresh
from oragent.report.held_out import (
    HeldOutScorer,
    check_best,
    hash_best,
    hash_identity,
    read_check,
    read_held_out,
    rescore_run,
)
from oragent.report.run import read_sets
from oragent.report.significance import LEVEL, MeasuredScore, Paired, compare_pairs, instance_gains, score_probability
from oragent.report.solution_pictures import DRAW, Picture, draw_pictures, is_plain_svg, read_pictures
from oragent.sandbox.messages import Command, CommandResult
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from tests.search.test_engine import search

from .test_final_round import GIF, PNG
from .test_final_round import Drawing as Beside
from .test_solution_pictures import PLAIN, Drawing
from .test_trust import Recorded


@pytest.fixture
def folder(begun: Any) -> RunFolder:
    made = begun("budget.evaluations=6", "problem_size=3")
    search(made)
    return made


def make_scorer(
    folder: RunFolder, offers: str, ended: Evaluation, device: str | None = None
) -> tuple[HeldOutScorer, Recorded]:
    run = Recorded(offers, ended)
    return HeldOutScorer(folder, run, device), run


OK = Evaluation(Status.OK, 3.0, None, {"ci95": (2.0, 4.0)})


def test_a_program_gets_ten_times_the_limits_and_the_size_of_the_run(folder: RunFolder) -> None:
    scorer, run = make_scorer(folder, "--device", OK, "cuda:1")
    assert scorer.score("program", "test", "--more") == {"ci95": [2.0, 4.0], "score": 3.0}
    job, limits = run.jobs[-1], folder.problem.make_limits(folder.config.limits)
    assert (job.source, job.mode, job.problem_size) == ("program", "test", 3)
    assert job.arguments[-1] == "--more"
    assert "--device=cuda:1" in job.arguments
    assert job.limits.cpu_s == 10 * limits.cpu_s
    scorer.evaluate("program", None, patience=1)
    assert run.jobs[-1].limits.cpu_s == limits.cpu_s
    assert scorer.device_name == "cuda:1"
    assert HeldOutScorer(folder).device_name == folder.config.device


def test_figures_belong_to_evaluator_seed_size_and_device(folder: RunFolder) -> None:
    same = {hash_identity(HeldOutScorer(folder, device=device)) for device in (None, "auto", "cpu")}
    assert len(same) == 1
    others = {hash_identity(HeldOutScorer(folder, device=device)) for device in ("cuda:0", "cuda:1")}
    larger = replace(folder, config=replace(folder.config, problem_size=4))
    others |= {hash_identity(HeldOutScorer(larger))}
    other_seed = HeldOutScorer(folder)
    other_seed.__dict__["seed"] = "another"
    others |= {hash_identity(other_seed)}
    folder.problem.evaluator.write_text(folder.problem.evaluator.read_text() + "#")
    others |= {hash_identity(HeldOutScorer(folder))}
    folder.problem.evaluator.write_bytes(b"\xff")
    others |= {hash_identity(HeldOutScorer(folder))}
    assert len(others - same) == 6


def test_programs_are_scored_again_the_best_first(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {}

    def run(job: Job) -> Evaluation:
        if job.arguments == ("--help",):
            return Evaluation(Status.ERROR, output="--mode")
        assert job.limits.cpu_s == folder.problem.make_limits(folder.config.limits).cpu_s
        scores[job.source] = float(len(scores))
        if len(scores) == 2:
            return Evaluation(Status.TIMEOUT, message="too slow")
        return Evaluation(Status.OK, scores[job.source])

    rescored = rescore_run(folder.path, 3, run)
    before = [row.before for row in rescored]
    assert len(rescored) == 4
    assert rescored[0].id == "0.0"
    with Store(folder.database, readonly=True) as store:
        stored = {record.source: record.score for record in store.records() if record.score is not None}
    del stored[folder.problem.seed]
    # Lower is better there.
    assert before[1:] == sorted(stored.values())[:3]
    assert len({row.id for row in rescored}) == 4
    failed = [row for row in rescored if row.now is None]
    assert [(row.status, row.message) for row in failed] == [("timeout", "too slow")]
    assert all((row.status, row.message) == ("ok", "") for row in rescored if row not in failed)
    rows = yaml.safe_load((folder.path / held_out.RESCORED_FILE).read_text())
    assert [(row["id"], row["before"], row["now"], row["status"]) for row in rows] == [
        (row.id, row.before, row.now, row.status) for row in rescored
    ]


@pytest.mark.parametrize(
    ("sizes", "offers", "mode", "arguments"),
    [
        ({"train": (3,)}, "--check --instances", "train", ("--instances=3", "--check")),
        ({"train": (3,)}, "--check", "train", ("--check",)),
        ({}, "--check --instances", None, ("--check",)),
    ],
)
def test_a_check_takes_a_few_training_instances(
    sizes: dict, offers: str, mode: str | None, arguments: tuple, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = replace(folder.problem, about=replace(folder.problem.about, sizes=sizes))
    ended = Evaluation(Status.REJECTED, message="r" * 500, cpu_s=2.25)
    scorer, run = make_scorer(replace(folder, problem=problem), offers, ended)
    monkeypatch.setattr(held_out, "HeldOutScorer", lambda folder: scorer)
    check = check_best(folder.path)
    assert (run.jobs[-1].mode, run.jobs[-1].arguments) == (mode, arguments)
    assert (check.passed, check.cpu_s, check.reason) == (False, 2.25, "r" * held_out.MAX_REASON)
    assert read_check(folder.path) == check
    run.end(Evaluation(Status.TIMEOUT, message="t" * 500, cpu_s=1.0))
    (folder.path / "check.yaml").unlink()
    check = check_best(folder.path)
    assert (check.passed, check.cpu_s, len(check.reason)) == (None, 1.0, held_out.MAX_REASON)
    for calls, expected in ((20, 20), (True, None), ("20", None), (None, None)):
        run.end(Evaluation(Status.OK, 1.0, metrics={"checked": calls}, cpu_s=1.5))
        (folder.path / "check.yaml").unlink()
        check = check_best(folder.path)
        assert (check.passed, check.calls, check.reason) == (True, expected, "")
        assert "1.5 CPU s" in check.sentence
        assert read_check(folder.path) == check


def test_a_check_that_cannot_be_made_is_a_result(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, _ = make_scorer(folder, "--mode", OK)
    monkeypatch.setattr(held_out, "HeldOutScorer", lambda folder: scorer)
    assert check_best(folder.path).passed is None
    (folder.path / "best.py").unlink()
    check = check_best(folder.path)
    assert (check.passed, check.program) == (None, "")
    assert check.reason
    assert read_check(folder.path) is None


# Files in the folder of a run, which anybody may have changed: name, reader, and content of a sound one.
FILES = {
    "check.yaml": (read_check, {"passed": True, "reason": "", "cpu_s": 1.5, "calls": 40}),
    "test.yaml": (read_held_out, {"seed": {"score": 1.0}, "best": {"score": 2}, "paired": None, "about": "x"}),
    "fresh.yaml": (read_fresh, {"seed": {"score": 1.0}, "best": {"score": 2}, "paired": None, "fresh_seed": 3}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_for_the_program_that_it_names(name: str, tmp_path: Path) -> None:
    read, content = FILES[name]
    (tmp_path / "best.py").write_text("best")
    assert read(tmp_path) is None
    (tmp_path / name).write_text(yaml.safe_dump(content | {"program": hash_best(tmp_path)}))
    assert read(tmp_path) is not None
    (tmp_path / name).write_text(yaml.safe_dump(content | {"program": "another"}))
    assert read(tmp_path) is None
    for key, value in content.items():
        if value is None or key in ("reason", "about", "calls", "passed"):
            continue
        for broken in ([1], "x", None):
            (tmp_path / name).write_text(yaml.safe_dump(content | {"program": hash_best(tmp_path), key: broken}))
            if name == "fresh.yaml":
                with pytest.raises(StoreError):
                    read(tmp_path)
            else:
                assert read(tmp_path) is None


@pytest.mark.parametrize("names", [(), ("test",), ("fresh",), ("test", "fresh")])
def test_a_report_has_the_sets_that_were_scored(names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text("best")
    for name in names:
        content = FILES[f"{name}.yaml"][1] | {"program": hash_best(tmp_path)}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    sets = read_sets(tmp_path, Direction.MINIMIZE, ({"score": 3.0}, {"score": 2.0}))
    assert (() if sets is None else tuple(sets.scores)) == (("val", *names) if names else ())


def test_named_sets_of_a_report_have_a_kind_and_may_be_lost(tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text("best")
    values = {
        name: {"by_instance": {"1": [value] * 8}, "score": value} for name, value in (("low", 1.0), ("high", 2.0))
    }
    plain = {"program": hash_best(tmp_path), "about": "x", "paired": None, "kind": "ood", "protected": False}
    trees = {
        "set-far.yaml": plain | {"seed": values["low"], "best": values["high"]},
        "set-kept.yaml": plain | {"seed": values["high"], "best": values["low"], "protected": True},
        "set-lost.yaml": plain | {"seed": values["low"], "best": values["high"], "protected": True, "kind": "named"},
        "set-old.yaml": plain | {"seed": values["low"], "best": values["high"], "program": "another"},
        # A mode of the contract is no named set.
        "set-val.yaml": plain | {"seed": values["low"], "best": values["high"]},
        "set-loose.yaml": plain | {"seed": values["low"], "best": values["high"], "protected": "yes", "kind": "näm"},
    }
    for name, tree in trees.items():
        (tmp_path / name).write_text(yaml.safe_dump(tree))
    sets = read_sets(tmp_path, Direction.MINIMIZE, ({"score": 3.0}, {"score": 2.0}))
    assert sets is not None
    assert list(sets.scores) == ["val", "far", "kept", "loose", "lost"]
    assert sets.kinds == {"far": "ood", "kept": "ood", "loose": "näm", "lost": "named"}
    assert list(sets.losses) == ["lost"]
    assert sets.seed is None
    text = "\n".join(sets.sentences)
    assert [name for name in sets.kinds if f"set {name} (out of distribution):" in text] == ["far", "kept"]
    assert [name for name in sets.kinds if f"PROTECTED SET {name}" in text] == ["lost"]


def test_scores_outside_of_a_search_leave_its_database_and_need_no_trust(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that somebody else hands on names a model at another address, and lacks a table of a later version."""
    tree = yaml.safe_load((folder.path / "config.yaml").read_text())
    tree["config"]["model"] = {"name": "x", "base_url": "http://evil.example/v1"}
    (folder.path / "config.yaml").write_text(yaml.safe_dump(tree))
    with Store(folder.database) as store:
        store._db.execute("DROP TABLE moments")
    before = folder.database.stat().st_mtime_ns, folder.database.read_bytes()
    scorer, run = make_scorer(folder, "--check", OK)
    monkeypatch.setattr(held_out, "HeldOutScorer", lambda folder, _=None: HeldOutScorer(folder, run))
    assert check_best(folder.path).passed
    assert held_out.score_held_out(folder.path)["best"]["score"] == 3.0
    assert len(rescore_run(folder.path, 2, run)) > 1
    with pytest.raises(OragentError):
        scorer.make_job(f'TABLE = load_array("a", "{"0" * 16}")\n', None, patience=1)
    assert (folder.database.stat().st_mtime_ns, folder.database.read_bytes()) == before


def test_texts_of_any_language_stay_readable_in_files(tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text("best")
    held_out.write_record(tmp_path, "x.yaml", {"b": "Grüße, 你好", "a": 1})
    assert (tmp_path / "x.yaml").read_text().splitlines()[1:] == ["b: Grüße, 你好", "a: 1"]


def test_a_final_round_with_numbers_that_are_none_is_none(tmp_path: Path) -> None:
    def write(**changes: object) -> Final | None:
        row = {"id": "1.0", "val": 3.0, "score": 2.0, "status": "ok", "ci95": [1.0, 3.0]} | changes
        failed = {"id": "2.0", "val": 3.0, "status": "timeout"}
        (tmp_path / "final.yaml").write_text(yaml.safe_dump({"about": "x", "elites": {"a": row, "b": failed}}))
        return read_final(tmp_path, Direction.MINIMIZE)

    final = write()
    assert final is not None
    assert (final.failed, [rank.id for rank in final.ranked]) == (("2.0",), ["1.0"])
    assert write(val=float("nan")) is write(score=float("inf")) is write(score="x") is None
    # No elite has a score.
    assert write(score=None) is None


@pytest.mark.parametrize(("score", "expected"), [(9.0, "no chance"), (8.5, "within chance")])
def test_a_winner_is_better_where_chance_is_below_five_percent(score: float, expected: str) -> None:
    # Two errors of 0.25 * sqrt(2) / sqrt(2): a difference of 1 has p = 0.002, of 0.5 p = 0.08.
    ranks = [
        FinalistRank(name, val, MeasuredScore(of, 0.25, None))
        for name, val, of in (("2.0", 1.0, score), ("1.0", 2.0, 8.0))
    ]
    final = Final(Direction.MAXIMIZE, tuple(ranks))
    p = score_probability(Direction.MAXIMIZE, ranks[0].measured, ranks[1].measured)
    assert p is not None
    assert (p < final_round.LEVEL) is (expected == "no chance")
    assert f"{expected} (p = {p:.2g})" in final.sentence
    assert "place 2 with 8" in final.sentence


# Sentences about sets, by their figures.


def paired(p: float | None, gain: float = 1.0, low: float | None = 0.5, high: float | None = 1.5) -> Paired:
    return Paired(9, 7, 1, gain, low, high, p)


@pytest.mark.parametrize(
    ("p", "gain", "verdict"), [(0.0499, 1.0, "better"), (0.0499, -1.0, "WORSE"), (0.05, 1.0, "not shown"), (None, 1.0, "not shown")]
)  # fmt: skip
def test_each_size_has_its_verdict(p: float | None, gain: float, verdict: str) -> None:
    scores = {"test": (MeasuredScore(10.0, None, None), MeasuredScore(11.0, None, None))}
    sets = Sets(Direction.MAXIMIZE, scores, None, {"test": paired(0.01)}, {}, {"test": {"20": paired(p, gain)}})
    head, by_size = sets.sentences
    assert "7 of 9 instances, worse on 1, equal on 1" in head
    assert "0.5 to 1.5" in head
    assert by_size.endswith(f"20: gain {gain:g}, {verdict}" + (" to differ" if verdict == "not shown" else ""))
    open_ended = Sets(Direction.MAXIMIZE, scores, None, {"test": paired(0.01, low=None)}).sentences[0]
    assert "interval" not in open_ended


def test_gaps_to_a_reference_are_named_with_their_sign() -> None:
    seed, best = {"score": 10.0, "gap_percent_20": 4.0, "gap_percent_50": -1.0}, {"score": 9.0, "gap_percent_20": 2.5}
    figures = {
        "seed": seed | {"n": True, "fresh_seed": 1, "t_seconds": 1},
        "best": best | {"n": 1, "fresh_seed": 1, "t_seconds": 2},
    }
    sets = collect_sets(Direction.MINIMIZE, (seed, best), figures, None)
    # Only numbers of both, without scores, times and the seed of the set.
    assert sets.figures == {"test": [("gap_percent_20", 4.0, 2.5)]}
    (gaps,) = [sentence for sentence in sets.sentences if "%" in sentence and "20:" in sentence]
    assert "20: +2.5 % (seed +4 %)" in gaps
    assert (sets.seed, sets.sizes) == (None, {"val": (), "test": ()})


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("errors", "is_shown"), [(1.95, False), (1.97, True)])
def test_a_difference_without_pairs_is_tested_on_both_sides(
    direction: Direction, errors: float, is_shown: bool
) -> None:
    seed = MeasuredScore(10.0, 0.3, None)
    for sign in (1, -1):
        best = MeasuredScore(10.0 + sign * errors * 0.5, 0.4, None)
        sentence = Sets(direction, {"test": (seed, best)}, None).sentences[0]
        is_better = sign == direction.sign
        assert ("not shown" in sentence) is not is_shown
        assert ("WORSE" in sentence) is (is_shown and not is_better)
        # Both tails of the normal distribution beyond 1.95 and 1.97.
        assert f"p = {0.051 if errors < 1.96 else 0.049:g}" in sentence


@pytest.mark.parametrize(("errors", "expected"), [(3.0, "within chance"), (3.2, "p = 0.0007"), (5.0, "p < 0.001")])
@pytest.mark.parametrize("direction", Direction)
def test_a_test_score_beyond_a_fresh_one_is_knowledge_of_the_set(
    direction: Direction, errors: float, expected: str
) -> None:
    test, fresh = MeasuredScore(10.0, 0.3, None), MeasuredScore(10.0 - direction.sign * errors * 0.5, 0.4, None)
    seed = MeasuredScore(10.0 - 4 * direction.sign, 0.3, None)
    sentence = next(
        text
        for text in Sets(direction, {"test": (seed, test), "fresh": (seed, fresh)}, 1).sentences
        if text.find("on test") >= 0
    )
    assert expected in sentence
    assert ("BEYOND CHANCE" in sentence) is (errors > 3.09)
    assert ("it knows the test set" in sentence) is (errors > 3.09)
    assert LEVEL == 0.001


@pytest.mark.parametrize(("chance", "is_shown"), [(0.025, False), (0.0249, True), (0.975, False), (0.9751, True)])
def test_a_difference_without_pairs_is_one_below_the_level(
    chance: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "score_probability", lambda *scores: chance)
    scores = MeasuredScore(10.0, 0.3, None), MeasuredScore(9.0, 0.3, None)
    assert ("not shown" in Sets(Direction.MINIMIZE, {"test": scores}, None).sentences[0]) is not is_shown


@pytest.mark.parametrize(("chance", "words"), [(LEVEL, "within chance"), (LEVEL * 0.99, "p = 0.001"), (
    LEVEL / 1000, "p = 1e-06"), (LEVEL / 1001, "p < 0.001")])  # fmt: skip
def test_sets_agree_at_the_level_itself(chance: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "score_probability", lambda *scores: chance)
    monkeypatch.setattr(fresh, "gain_probability", lambda *gains: chance)
    scores = MeasuredScore(10.0, 0.3, None), MeasuredScore(9.0, 0.3, None)
    for names in (("val", "test"), ("test", "fresh"), ("val", "fresh")):
        sets = Sets(Direction.MINIMIZE, dict.fromkeys(names, scores), 1)
        assert words in next(sentence for sentence in sets.sentences if sentence.find(f"on {names[0]} the best") >= 0)


@pytest.mark.parametrize(("limit", "is_read"), [(3, True), (2, False)])
def test_very_many_instances_are_left_alone(limit: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "MAX_INSTANCES", limit)
    pair = {"by_instance": {"1": [1.0, 2.0], "2": [3.0]}}, {"by_instance": {"1": [2.0, 2.0], "2": [1.0]}}
    assert (instance_gains(Direction.MAXIMIZE, *pair) is not None) is is_read
    large = {"by_instance": {"1": [1e300]}}
    assert instance_gains(Direction.MAXIMIZE, large, large) is None
    assert (
        instance_gains(Direction.MAXIMIZE, {"by_instance": {"1": [-9.9e299]}}, {"by_instance": {"1": [1]}}) is not None
    )


@pytest.mark.parametrize(("p", "words"), [(0.00099, "p < 0.001"), (0.001, "p = 0.001"), (0.0312, "p = 0.031")])
def test_a_small_p_is_bounded(p: float, words: str) -> None:
    assert words in paired(p).verdict
    assert compare_pairs(Direction.MAXIMIZE, {"score": 1}, {"score": 1}) is None


# Pictures.


def test_a_picture_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    data = PLAIN.format("<rect/>").encode()
    for limit, is_picture in ((len(data), True), (len(data) - 1, False)):
        monkeypatch.setattr(solution_pictures, "MAX_SVG_BYTES", limit)
        assert is_plain_svg(data) is is_picture


def test_pictures_beside_are_bounded_in_size_and_number(begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun("budget.evaluations=3")
    search(folder)
    scorer, _ = make_scorer(folder, "--beside", OK)
    commands: list[Command] = []
    monkeypatch.setattr(solution_pictures, "MAX_BYTES", len(PNG))
    monkeypatch.setattr(solution_pictures, "MAX_PICTURES", 2)
    draw = Beside(b_png=PNG, a_gif=GIF, c_png=PNG, large_png=PNG + b"x")

    def keep(command: Command, root: Path) -> CommandResult:
        commands.append(command)
        assert root == folder.root
        return draw(command, root)

    drawn = draw_pictures(folder.path, scorer, keep)
    assert [picture.name for picture in drawn] == ["a.gif", "b.png"]
    assert read_pictures(folder.path) == drawn
    limits = folder.problem.make_limits(folder.config.limits)
    # Drawing may take three times as long.
    assert commands[0].limits.cpu_s == 3 * limits.cpu_s


def test_only_instances_that_both_programs_solved_are_drawn(begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun("budget.evaluations=3")
    search(folder)
    scorer, _ = make_scorer(folder, DRAW, OK)
    fine, numbers = PLAIN.format("<rect/>"), iter(range(2))

    def draw(command: Command, root: Path) -> CommandResult:
        is_best = next(numbers) == 0
        values = {"both": 1.0 if is_best else 2.0, "whole": 3, "": 1.0, "x" * 81: 1.0, "none": float("nan")}
        values |= {"best_only" if is_best else "seed_only": 1.0}
        return Drawing(values, **dict.fromkeys(values, fine))(command, root)

    drawn = draw_pictures(folder.path, scorer, draw)
    assert [(picture.instance, picture.program, picture.value) for picture in drawn] == [
        ("both", "best", 1.0),
        ("both", "seed", 2.0),
    ]
    tree = yaml.safe_load((folder.path / "pictures/pictures.yaml").read_text())
    assert tree["values"] == {"both.best.svg": 1.0, "both.seed.svg": 2.0}
    # Other drawings for another device.
    other = HeldOutScorer(folder, scorer.run, "cuda:0")
    numbers = iter(range(2))
    draw_pictures(folder.path, other, draw)
    assert next(numbers, None) is None


@pytest.mark.parametrize(
    ("name", "program", "instance", "caption"),
    [
        ("size_3.best.svg", "best", "size 3", "size 3, best"), ("a.seed.svg", "seed", "a", "a, seed"),
        ("worst_tour.png", "", "worst tour", "worst tour"), ("a.other.svg", "", "a", "a.other"), ("a.best.png", "", "a", "a.best"),
    ],
)  # fmt: skip
def test_the_name_of_a_picture_says_what_it_shows(name: str, program: str, instance: str, caption: str) -> None:
    picture = Picture(name, b"data")
    assert (picture.program, picture.instance, picture.caption) == (program, instance, caption)
    kind = "svg+xml" if name.endswith("svg") else "png"
    assert picture.address == f"data:image/{kind};base64,ZGF0YQ=="


def test_a_program_without_a_score_is_one_error(folder: RunFolder) -> None:
    scorer, _ = make_scorer(folder, "", Evaluation(Status.TIMEOUT, message="late"))
    with pytest.raises(ProblemError) as caught:
        scorer.score("x", "test")
    assert {"timeout", "late"} <= set(str(caught.value).replace(":", " ").split())
