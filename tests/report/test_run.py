from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, OragentError, StoreError
from oragent._base.protocol import Status
from oragent.evaluation.hardening import CASES, CaseOutcome, HardenedCase, HardenedProgram
from oragent.report import swept_reference
from oragent.report.hardened import harden_best
from oragent.report.held_out import write_record
from oragent.report.live.evidence import read_trust
from oragent.report.live.snapshot import RunReader
from oragent.report.pages.text import measure_gain
from oragent.report.run import load_run
from oragent.report.run_verdicts import RunVerdict, write_verdicts
from oragent.report.terminal import describe_trust

from . import runs
from .runs import Made

SEED = Made(runs.SEED, 10.0, (0, 0), (), "seed")


def made(number: int, score: float | None, parents: tuple[str, ...] = ("0.0",), **more: object) -> Made:
    return Made(f"{runs.SEED}# {number}\n", score, parents=parents, **more)  # type: ignore[arg-type]


def a_run(folder: Path, *rounds: list[Made], direction: str = "minimize") -> Path:
    runs.describe(folder, direction)
    runs.write(folder, [[SEED], *rounds], direction=direction)
    return folder


def test_the_best_is_the_lowest_score_where_lower_is_better(tmp_path: Path) -> None:
    data = load_run(a_run(tmp_path, [made(1, 8.0)], [made(2, 12.0, features=(1, 1))]))
    assert data.best.id == "1.0"
    assert data.gain.sentence == "2 lower than the seed (20 %)"


def test_the_best_is_the_highest_score_where_higher_is_better(tmp_path: Path) -> None:
    data = load_run(a_run(tmp_path, [made(1, 8.0, features=(1, 1))], [made(2, 12.5)], direction="maximize"))
    assert data.best.id == "2.0"
    assert data.gain.sentence == "2.5 higher than the seed (25 %)"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_curve_never_gets_worse_and_ends_at_the_best(tmp_path: Path, direction: str) -> None:
    runs.describe(tmp_path, direction)
    runs.write(tmp_path, runs.searched(80, direction=direction), direction=direction)
    data = load_run(tmp_path)
    for curve in [data.by_evaluations]:
        assert all(
            measure_gain(Direction(direction), before.best, after.best).amount >= 0 for before, after in pairwise(curve)
        )
        assert all(before.at <= after.at for before, after in pairwise(curve))
        assert curve[-1].best == data.best.candidate.evaluation.score
        assert all(measure_gain(Direction(direction), point.score, point.best).amount >= 0 for point in curve)


def test_a_failure_costs_an_evaluation_and_has_no_point_on_the_curve(tmp_path: Path) -> None:
    data = load_run(a_run(tmp_path, [made(1, None)], [made(2, 9.0)]))
    assert [(point.at, point.score, point.best) for point in data.by_evaluations] == [(1, 10, 10), (3, 9, 9)]


def test_an_equal_program_is_counted_once(tmp_path: Path) -> None:
    data = load_run(a_run(tmp_path, [made(1, 9.0), made(1, 9.0)], [made(2, 8.0)]))
    assert data.spend.candidates == 4
    assert data.spend.evaluations == 3
    assert [point.at for point in data.by_evaluations] == [1, 2, 3]


def test_a_program_that_was_rejected_unread_costs_no_evaluation(tmp_path: Path) -> None:
    data = load_run(a_run(tmp_path, [made(1, None, status=Status.REJECTED, wall_s=0.0)], [made(2, 8.0)]))
    assert data.spend.evaluations == 2
    assert [point.at for point in data.by_evaluations] == [1, 2]


def test_the_line_of_descent_follows_first_parents_to_the_seed(tmp_path: Path) -> None:
    rounds = [made(1, 9.5)], [made(2, 11.0, ("1.0",), features=(3, 2))], [made(3, 9.0)], [made(4, 8.0, ("2.0", "3.0"))]
    assert [record.id for record in load_run(a_run(tmp_path, *rounds)).descent] == ["4.0", "2.0", "1.0", "0.0"]


@pytest.mark.parametrize("parent", ["1.0", "7.7"])
def test_a_line_of_descent_that_is_broken_ends(tmp_path: Path, parent: str) -> None:
    assert [record.id for record in load_run(a_run(tmp_path, [made(1, 9.5, (parent,))])).descent] == ["1.0"]


def test_failures_are_grouped_the_most_frequent_first(tmp_path: Path) -> None:
    statuses = [Status.ERROR, Status.TIMEOUT, Status.TIMEOUT]
    rounds = [[made(number, None, status=status)] for number, status in enumerate(statuses)]
    failures = load_run(a_run(tmp_path, *rounds)).failures
    assert [(status, len(group)) for status, group in failures.items()] == [(Status.TIMEOUT, 2), (Status.ERROR, 1)]


def test_an_island_keeps_the_best_of_each_cell_that_was_found_on_it(tmp_path: Path) -> None:
    first = [made(1, 9.0, features=(1, 0)), made(2, 8.5, features=(1, 0)), made(3, 8.7, features=(1, 0))]
    data = load_run(a_run(tmp_path, first, [made(4, 9.9, features=(2, 0), island=1)]))
    assert [[record.id for record in island] for island in data.islands] == [["1.1", "0.0"], ["2.0", "0.0"]]


def test_of_equal_scores_the_shorter_program_is_the_best_as_in_the_archive(tmp_path: Path) -> None:
    longer = Made(f"{runs.SEED}X = 1 + 2 + 3\n", 8.0, (1, 0))
    assert load_run(a_run(tmp_path, [longer], [made(2, 8.0, features=(2, 0))])).best.id == "2.0"


def test_the_cost_is_summed_by_role(run: Path) -> None:
    spend = load_run(run).spend
    assert (spend.calls.number, spend.calls.cost, spend.calls.unpriced, spend.calls.tokens) == (3, 0.75, 1, 3600)
    assert {name: calls.retries for name, calls in spend.by_role.items()} == {"mutate": 0, "reflect": 2}


def test_time_is_the_runs_own(tmp_path: Path) -> None:
    spend = load_run(a_run(tmp_path, [made(1, 9.0)], [made(2, 8.0)])).spend
    assert (spend.seconds, spend.cpu_s, spend.wall_median_s, spend.per_hour) == (30.0, 3.0, 2.0, 360.0)


def test_the_way_on_raises_what_is_used_up(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "a run", [made(1, 9.0)], [made(2, 8.0)])
    assert load_run(folder).resume_command == f"oragent resume '{folder}'"
    tree = yaml.safe_load((folder / "config.yaml").read_text())
    tree["config"]["budget"] = {"evaluations": 3, "seconds": 20}
    (folder / "config.yaml").write_text(yaml.safe_dump(tree))
    assert load_run(folder).resume_command == f"oragent resume '{folder}' budget.evaluations=6 budget.seconds=60"


def test_a_run_that_was_killed_has_no_end(tmp_path: Path, run: Path) -> None:
    assert load_run(a_run(tmp_path / "killed", [made(1, 9.0)])).end is None
    assert load_run(run).end == "the budget of 60 evaluations is used up"


def test_a_report_can_be_read_while_the_run_goes_on(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [made(1, 9.0)])
    with runs.Store(folder / "run.db") as store:
        store.note("x", "y")
        assert load_run(folder).best.id == "1.0"


def no_folder(folder: Path) -> Path:
    return folder / "nowhere"


def no_config(folder: Path) -> Path:
    (a_run(folder) / "config.yaml").unlink()
    return folder


def no_database(folder: Path) -> Path:
    runs.describe(folder)
    return folder


def parent_of_runs(folder: Path) -> Path:
    a_run(folder / "20250101-120000-gp")
    return folder


def garbled_database(folder: Path) -> Path:
    (a_run(folder) / "run.db").write_bytes(b"not a database, but long enough to be looked at" * 40)
    return folder


def empty_database(folder: Path) -> Path:
    (a_run(folder) / "run.db").write_bytes(b"")
    return folder


def nothing_scored(folder: Path) -> Path:
    runs.describe(folder)
    runs.write(folder, [[made(0, None)]])
    return folder


def no_yaml(folder: Path) -> Path:
    (a_run(folder) / "config.yaml").write_text("problem: [")
    return folder


def other_yaml(folder: Path) -> Path:
    (a_run(folder) / "config.yaml").write_text("- 1")
    return folder


def no_direction(folder: Path) -> Path:
    a_run(folder)
    runs.describe(folder, "sideways")
    return folder


@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        (no_folder, StoreError, "is not a run's folder: config.yaml and run.db expected"),
        (no_config, StoreError, "config.yaml expected"),
        (no_database, StoreError, "run.db expected"),
        (parent_of_runs, StoreError, "the latest is"),
        (garbled_database, StoreError, "corrupted"),
        (empty_database, StoreError, "has no format number"),
        (nothing_scored, StoreError, "no candidate"),
        (no_yaml, ConfigError, "is not YAML"),
        (other_yaml, ConfigError, "is not the configuration of a run"),
        (no_direction, ConfigError, "must be maximize or minimize, not 'sideways'"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, broken, error: type[OragentError], words: str) -> None:
    with pytest.raises(error) as caught:
        load_run(broken(tmp_path))
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_settings_that_a_report_does_not_know_do_no_harm(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [made(1, 9.0)])
    tree = yaml.safe_load((folder / "config.yaml").read_text())
    tree["config"] = {"archive": None, "strategy": {"name": "auto", "novel": 1}}
    (folder / "config.yaml").write_text(yaml.safe_dump(tree))
    data = load_run(folder)
    assert data.about.strategy_name == ""
    assert len(data.islands) == 1


def test_what_is_stored_beside_a_run_belongs_to_its_report_and_its_page(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [made(1, 8.0)])
    (folder / "best.py").write_text(made(1, 8.0).source)
    assert (load_run(folder).verdicts, load_run(folder).reference, load_run(folder).hardened) == ((), None, None)
    hardened = HardenedProgram((HardenedCase(CASES[0], CaseOutcome.FAILED, "it ends"),))
    # It writes into the program, so it comes first.
    assert harden_best(folder, lambda text: hardened) == hardened
    verdict = RunVerdict("seed", 0.2, 0.1, 0.3, 0.01, 0.05, 12)
    write_verdicts(folder, [verdict])
    scores = {program: {"score": 9.0} for program in swept_reference.PROGRAMS}
    swept = {
        "name": "two-opt",
        "values": {"c": 0.5},
        "settings": 3,
        "cpu_s": 2.0,
        "text": "x",
        "scores": {"val": scores},
    }
    write_record(folder, swept_reference.FILE, {**swept, "pairs": {}})
    data = load_run(folder)
    assert (data.verdicts, data.reference, data.hardened) == ((verdict,), swept_reference.read_swept(folder), hardened)
    sentences = {verdict.sentence, *data.reference.sentences, hardened.sentence}
    assert sentences <= set(describe_trust(data))
    assert sentences <= set(read_trust(RunReader(folder))["sentences"])
    # They are about a program that is no longer the best.
    (folder / "best.py").write_text("another")
    assert (load_run(folder).verdicts, load_run(folder).reference, load_run(folder).hardened) == ((), None, None)
