"""Files of utilities: what was written is read back; what is wrong is told in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ConfigError, StoreError
from oragent_benchmarks.converse.evaluable_problems import read_utility_file, write_utility_file
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import Target
from oragent_benchmarks.converse.problems.schools import sfusd

PROBLEM = sfusd()
RECORD = {
    "school": "Ortega (Jose) PK", "direction": "early", "load": 2500, "deviation": 11.5,
    "weights": [0.252, 0.332, 0.416], "optimum": "CCCAABABBC",
}  # fmt: skip
LISTED = {"school": 1, "early": True, "L": 2500, "R": 11.5, "w": [0.252, 0.332, 0.416], "schedule": "CCCAABABBC"}


def saved(folder: Path, *records: dict[str, Any], **head: Any) -> Path:
    path = folder / "utilities.json"
    path.write_text(json.dumps({"schema": 1, "problem": "sfusd", **head, "utilities": records}))
    return path


def test_what_was_written_is_read_back(tmp_path: Path, generated: list[Target]) -> None:
    path = tmp_path / "utilities.json"
    write_utility_file(
        path, PROBLEM, [Person(one.utility, PROBLEM.exact) for one in generated], "solution-centric, seed 0"
    )
    found = read_utility_file(path, PROBLEM)
    assert [Target(one.utility, one.best[0]) for one in found.stakeholders] == generated
    assert found.warnings == ()
    assert json.loads(path.read_text())["made"] == "solution-centric, seed 0"


def test_both_formats_mean_the_same(tmp_path: Path) -> None:
    ours = read_utility_file(saved(tmp_path, RECORD), PROBLEM)
    listed = tmp_path / "listed.json"
    listed.write_text(json.dumps([LISTED]))
    assert read_utility_file(listed, PROBLEM) == ours
    assert ours.warnings == ()
    assert ours.stakeholders[0].best[0] == "CCCAABABBC"


def test_the_shared_set_has_161_utilities_of_64_optima_and_three_unreachable_thresholds(published: Path) -> None:
    found = read_utility_file(published, PROBLEM)
    assert len(found.stakeholders) == 161
    assert [one.best[0] for one in found.stakeholders] == [one["schedule"] for one in json.loads(published.read_text())]
    assert len({one.best[0] for one in found.stakeholders}) == 64
    assert len(found.warnings) == 3
    assert all("no schedule reaches load 1900; the least is 1,987" in warning for warning in found.warnings)


# what of the record is changed, what the one line says
DOUBTS = [
    (
        {"load": 1900},
        ["no schedule reaches load 1900; the least is 1,987", "no unique maximum: CBCAAAABBC and CBCABAABBC"],
    ),
    ({"deviation": 8}, ["no schedule reaches deviation 8; the least is 8.5"]),
    ({"weights": [1, 0, 0]}, ["no unique maximum: AAAAAAAAAA... are equally good"]),
    ({"optimum": "CCCABAABBC"}, ["the best schedule is CCCAABABBC, not 'CCCABAABBC'"]),
]


@pytest.mark.parametrize(("change", "lines"), DOUBTS)
def test_what_a_utility_cannot_do_is_warned_of(tmp_path: Path, change: dict[str, Any], lines: list[str]) -> None:
    path = saved(tmp_path, RECORD, RECORD | change)
    found = read_utility_file(path, PROBLEM)
    assert len(found.stakeholders) == 2
    for line in lines:
        start, _, end = line.partition("AAAAAAAAAA...")
        assert any(f"{path}, utility 2: {start}" in warning and end in warning for warning in found.warnings)


WRONG = [
    ({"school": "Ortegga (Jose) PK"}, "utility 1: 'Ortegga .Jose. PK' is no school of sfusd.* did you mean 'Ortega"),
    ({"school": 1}, "'1' is no school of sfusd"),
    ({"direction": "soon"}, "direction must be early or late, not 'soon'"),
    ({"direction": ["early"]}, "direction must be early or late"),
    ({"weights": [0.252, 0.332, 0.418]}, "must sum to 1, not 1.002"),
    ({"weights": [0.5, 0.5]}, "three weights"),
    ({"weights": "0.5"}, "weights must be three numbers"),
    ({"weights": [True, 0, 0]}, "weights must be three numbers"),
    ({"load": "2500"}, "load and deviation must be numbers, not '2500' and 11.5"),
    ({"deviation": None}, "must be numbers, not 2500 and None"),
    ({"load": 1e400}, "must be numbers, not inf"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_record_is_told_in_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as problem:
        read_utility_file(saved(tmp_path, RECORD | change), PROBLEM)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"school": 10}, "unknown school 10; expected its position, 0 to 9"),
        ({"school": True}, "unknown school True"),
        ({"school": "Ortega"}, "unknown school 'Ortega'"),
        ({"early": 1}, "early must be true or false, not 1"),
        ({"w": [0.3, 0.3, 0.3]}, "must sum to 1, not 0.9"),
        ({"L": None}, "must be numbers, not None and 11.5"),
    ],
)
def test_a_wrong_record_of_a_plain_list_is_too(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "listed.json"
    path.write_text(json.dumps([LISTED, LISTED | change]))
    with pytest.raises(ConfigError, match=f"utility 2: .*{message}"):
        read_utility_file(path, PROBLEM)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "a list of at least one utility"),
        ("[1]", "a list of at least one utility"),
        ("7", "a list of at least one utility"),
        ('{"schema": 2}', "has schema 2; expected 1"),
        ('{"schema": 1, "problem": "knapsack"}', "is for problem 'knapsack', not 'sfusd'"),
        ('{"schema": 1, "problem": "sfusd"}', "a list of at least one utility"),
    ],
)
def test_another_file_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "utilities.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_utility_file(path, PROBLEM)


def test_bytes_that_are_no_text_and_files_beyond_any_use_are_told(tmp_path: Path) -> None:
    path = tmp_path / "utilities.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError):
        read_utility_file(path, PROBLEM)
    path.write_bytes(b" " * 10_000_001)
    with pytest.raises(ConfigError, match="10 MB"):
        read_utility_file(path, PROBLEM)


def test_a_file_that_is_not_there_or_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        read_utility_file(tmp_path / "none.json", PROBLEM)
    with pytest.raises(StoreError):
        write_utility_file(tmp_path / "none" / "utilities.json", PROBLEM, [], "never")
