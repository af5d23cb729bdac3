"""What the live page reads of a run is what its store holds."""

import json
import shutil
from pathlib import Path

import pytest

from oragent._base.errors import StoreError
from oragent.report.live.snapshot import RunReader
from oragent.report.live.watched import Watched
from oragent.search.candidate import Committed
from oragent.search.store import Store
from oragent.search.user_commands import FOLDER, post_act


def committed(run: Path) -> list[Committed]:
    with Store(run / "run.db", readonly=True) as store:
        return store.records()


def test_each_candidate_is_read_as_it_was_stored(run: Path) -> None:
    reader = RunReader(run)
    for record in committed(run):
        read, evaluation = reader.read_candidate(record.id), record.candidate.evaluation
        assert read["id"] == record.id
        assert read["source"] == record.candidate.source
        assert tuple(read["parents"]) == record.candidate.parents
        assert read["origin"] == record.candidate.origin
        assert read["status"] == evaluation.status
        assert read["score"] == evaluation.score
        assert tuple(read["features"] or ()) == (evaluation.features or ())
        assert read["message"] == evaluation.message
        assert read["check"] is None
        assert str(Path("candidates") / record.id) in read["command"]


@pytest.mark.parametrize(
    "name",
    ["", "1", "1.", ".1", "a.b", "1.0.0", "1.-1", "²0.0", "1.²", "-1.0", "1.0 ", "999.0", "0.7", "9" * 30 + ".0"],
)
def test_what_names_no_candidate_is_refused(name: str, run: Path) -> None:
    with pytest.raises(StoreError):
        RunReader(run).read_candidate(name)


def test_columns_hold_all_candidates_in_pieces(run: Path) -> None:
    records = committed(run)
    whole = RunReader(run).read_candidates()
    pieces, after = [], 0
    while True:
        part = RunReader(run).read_candidates(after, 7)
        if not part.score:
            break
        pieces += list(part.score)
        after += len(part.score)
    scores = [record.score for record in records]
    assert [None if score is None else pytest.approx(score) for score in whole.score] == scores
    assert pieces == list(whole.score)


def test_the_summary_sums_what_was_called_and_evaluated(run: Path) -> None:
    summary = RunReader(run).read_summary()
    records = committed(run)
    distinct = {record.candidate.fingerprint: record.candidate.evaluation for record in records}
    scores = [evaluation.score for evaluation in distinct.values() if evaluation.score is not None]
    assert (summary.seed, summary.seed_score, summary.best_score) == ("0.0", 6.94, min(scores))
    assert summary.evaluations == len(distinct)
    assert summary.rounds == max(record.round for record in records) + 1
    assert summary.cpu_s == pytest.approx(sum(evaluation.cpu_s for evaluation in distinct.values()))
    assert summary.state == "ended"
    groups = {group.role: group for group in summary.calls if group.model != "local-model"}
    assert (groups["reflect"].money, groups["reflect"].retries, groups["reflect"].calls) == (0.5, 2, 1)
    assert (groups["mutate"].money, groups["mutate"].unpriced) == (0.25, 0)
    (local,) = [group for group in summary.calls if group.model == "local-model"]
    assert (local.money, local.unpriced, local.tokens_in, local.tokens_out) == (0.0, 1, 1000, 200)


def test_folders_are_found_below_the_root(run: Path) -> None:
    root = run.parents[1]
    watched = Watched(root)
    (entry,) = [each for each in watched.list_runs() if str(each["id"]).endswith(run.name)]
    assert watched.find(str(entry["id"]))
    with pytest.raises(StoreError):
        watched.find("../" + run.name)
    assert watched.summary(str(entry["id"]))["best_score"] == RunReader(run).read_summary().best_score


def test_columns_agree_with_the_store(run: Path) -> None:
    columns, records = RunReader(run).read_candidates(), committed(run)
    for at, record in enumerate(records):
        evaluation = record.candidate.evaluation
        assert f"{columns.round[at]}.{columns.number[at]}" == record.id
        assert columns.statuses[columns.status[at]] == evaluation.status
        assert columns.origins[columns.origin[at]] == record.candidate.origin
        assert columns.messages[columns.message[at]] == evaluation.message
        assert tuple(columns.parents[at]) == record.candidate.parents
        assert tuple(columns.features[at] or ()) == (evaluation.features or ())
        assert columns.size[at] == len(record.candidate.source)
        assert (columns.wall[at], columns.cpu[at]) == pytest.approx((evaluation.wall_s, evaluation.cpu_s))
        assert columns.money[at] == 0.0
    # An equal program was evaluated once, in the round of the first.
    assert columns.at[:3] == [10.0, 20.0, 30.0]
    assert columns.at[-1] == columns.at[1]


def test_the_time_of_a_run_is_that_of_its_last_round(run: Path) -> None:
    summary = RunReader(run).read_summary()
    assert summary.spent["seconds"] == 10.0 * summary.rounds
    assert summary.spent["evaluations"] == len(committed(run))
    assert summary.steering == summary.waiting == summary.tasks == summary.asked == []
    assert summary.titles == {}


def test_what_waits_for_a_person_or_for_the_engine_is_shown(run: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run, tmp_path / "copy")
    reader = RunReader(folder)
    before = reader.version()
    post_act(folder, "hint", "Try 2-opt.")
    prompts = (folder / FOLDER) / "asked"
    prompts.mkdir()
    messages = [{"role": "system", "content": "Write."}, {"role": "user", "content": "Go \x1b on."}]
    for key, prompt in (("3.0", json.dumps(messages)), ("3.1", "no messages")):
        (prompts / f"{key}.json").write_text(json.dumps({"key": key, "role": "mutate", "prompt": prompt}))
    summary = reader.read_summary()
    assert [(act["act"], act["value"]) for act in summary.waiting] == [("hint", "Try 2-opt.")]
    assert sorted(summary.asked, key=lambda each: each["key"]) == [
        {"key": "3.0", "role": "mutate", "prompt": [{"role": "system", "text": "Write."}, {"role": "user", "text": "Go \\u001b on."}]},
        {"key": "3.1", "role": "mutate", "prompt": [{"role": "", "text": "no messages"}]},
    ]  # fmt: skip
    assert reader.version() != before


def test_calls_are_read_in_their_order(run: Path) -> None:
    reader = RunReader(run)
    calls = reader.read_calls()
    assert [(call["key"], call["role"], call["money"], call["retries"]) for call in calls] == [
        ("1.0", "mutate", 0.25, 0), ("2.0", "reflect", 0.5, 2), ("3.0", "mutate", None, 0),
    ]  # fmt: skip
    assert len(reader.read_calls(limit=2)) == 2
    (call,) = reader.read_call("2.0")
    assert (call["tokens_in"], call["tokens_out"], call["seconds"], call["prompt"]) == (1000, 200, 3.0, [])
