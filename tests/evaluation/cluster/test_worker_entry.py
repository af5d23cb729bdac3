"""What a worker does with what it is asked, and that trouble of its machine is never a candidate's."""

import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.cluster import worker_entry
from oragent.evaluation.cluster.content import Content, ContentStore
from oragent.evaluation.cluster.worker_entry import (
    WorkerTrouble,
    content_missing,
    handle_request,
    make_request,
    read_answer,
)
from oragent.sandbox.messages import EndReason
from tests.evaluation.cluster.conftest import job
from tests.search.test_engine import scored


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch) -> ContentStore:
    made = ContentStore(tmp_path / "shelf")
    monkeypatch.setattr(worker_entry, "_content_store", lambda: made)
    return made


@pytest.fixture
def evaluated(monkeypatch):
    """What evaluations come to; to be changed."""
    found = {"run": scored}
    monkeypatch.setattr(worker_entry, "_process_runner", lambda: lambda asked: found["run"](asked))
    return found


def ask(*parts: bytes, **asked: object) -> dict:
    return json.loads(handle_request(json.dumps(asked), *parts))


def provided(content: Content) -> dict:
    """Give a worker the content as a Dask process does."""
    for number in ask(do="lacks", manifest=content.manifest)["lacks"]:
        for offset, part in content.read_parts(content.pieces[number]):
            assert ask(part, do="put", content=content.digest, number=number, offset=offset) == {}
    return ask(do="finish", manifest=content.manifest)


def test_it_needs_the_content_first(toy, tmp_path, content, shelf, evaluated) -> None:
    asked = make_request(job(toy, tmp_path), content)
    assert handle_request(asked) == content_missing(content.digest)
    assert provided(content) == {"unmet": [], "packages": {}}
    assert read_answer(handle_request(asked)).score == 50


def test_it_says_what_its_machine_misses(toy, tmp_path, shelf) -> None:
    from oragent.evaluation.cluster.content import gather_content
    from oragent.evaluation.problem import load_problem

    (toy / "problem.yaml").write_text(
        (toy / "problem.yaml").read_text() + "requires: [no_such_module, 'program:no-such', numpy]\n"
    )
    answer = provided(gather_content(load_problem(toy), tmp_path))
    unmet = answer["unmet"]
    assert answer["packages"] == {"numpy": version("numpy")}
    assert "'no_such_module'" in unmet[0]
    assert "no-such" in unmet[1]


def test_what_comes_along_is_kept(toy, tmp_path, content, shelf, evaluated) -> None:
    asked = json.loads(make_request(job(toy, tmp_path), content))
    parts = [content.paths[piece.name].read_bytes() for piece in content.pieces]
    assert ask(*parts, **asked, manifest=content.manifest)["evaluation"]["score"] == 50
    assert shelf.find_folder(content.digest)


def troubled(toy, tmp_path, content) -> str:
    provided(content)
    with pytest.raises(WorkerTrouble) as found:
        read_answer(handle_request(make_request(job(toy, tmp_path), content)))
    return str(found.value)


def test_a_full_disk_is_its_machines(toy, tmp_path, content, shelf, evaluated, monkeypatch) -> None:
    def full(asked: object) -> Evaluation:
        raise OSError(28, "No space left on device")

    evaluated["run"] = full
    assert "No space left" in troubled(toy, tmp_path, content)
    evaluated["run"] = lambda asked: Evaluation(Status.ERROR, message="OSError: No space left on device")
    monkeypatch.setattr(worker_entry, "_room_mb", lambda: 3.0)
    assert "3 MiB are left" in troubled(toy, tmp_path, content)
    evaluated["run"] = scored  # what has a score had room enough
    assert read_answer(handle_request(make_request(job(toy, tmp_path), content))).score == 50


def test_a_server_that_was_killed_is_its_machines(toy, tmp_path, content, shelf, evaluated) -> None:
    evaluated["run"] = lambda asked: replace(Evaluation(Status.CRASHED), end=EndReason.LOST)
    assert "was killed" in troubled(toy, tmp_path, content)


def test_nor_is_a_failure_of_our_own_a_candidates(toy, tmp_path, content, shelf, evaluated) -> None:
    def failing(asked: object) -> Evaluation:
        raise worker_entry.OragentError("no isolation that was there when the server began\x1b[2J")

    evaluated["run"] = failing
    assert troubled(toy, tmp_path, content).endswith("\\u001b[2J")


@given(
    st.one_of(
        st.text(),
        st.builds(json.dumps, st.dictionaries(st.sampled_from(["do", "manifest", "content", "x"]), st.text())),
    )
)
def test_whatever_it_is_asked_it_answers_in_json(asked: str) -> None:
    if "handshake" not in asked:
        assert "trouble" in json.loads(handle_request(asked)) or handle_request(asked)
