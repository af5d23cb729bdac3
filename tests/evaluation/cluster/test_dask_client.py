"""What the Dask process says is taken in one form alone: it speaks with machines that may be anybody's."""

import asyncio
import json
import time
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import SandboxError
from oragent.evaluation.cluster.cluster_settings import ClusterKind, ClusterSettings
from oragent.evaluation.cluster.connect import Cluster
from oragent.evaluation.cluster.content import Content
from oragent.evaluation.cluster.dask_client import MAX_PLACES, DaskClient
from oragent.evaluation.cluster.dispatch import EvaluationLost, LatenessRule
from oragent.evaluation.cluster.handshake import Handshake, handshake_to_json
from oragent.evaluation.cluster.worker_entry import MAX_LINE_BYTES, handle_request, unpack_line
from tests.extras import need
from tests.unseen import unseen

WORKER = handshake_to_json(
    Handshake("node1", "1.0", "abc", "3.11.4", {"numpy": "2.1"}, "x86_64", 8, (), 1000.0, 9000.0)
)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
names = st.sampled_from(
    ["number", "answer", "lost", "event", "joined", "places", "handshake", "left", "refused", "why", "looked_at"]
)


class Unstarted(DaskClient):
    """A Dask client without a process, whose words tests put in its mouth."""

    def __init__(self) -> None:
        self.events: list[str] = []
        super().__init__({}, self.events.append, lambda: None, lambda address: None, {})


@pytest.fixture
def dask_client():
    made = Unstarted()
    yield made
    made.close()


def test_workers_come_and_go(dask_client: Unstarted) -> None:
    dask_client._handle_message({"joined": "tls://a:1", "places": 4, "handshake": WORKER})
    dask_client._handle_message({"joined": "tls://b:1", "places": 1, "handshake": WORKER})
    assert dask_client.workers.places == 5
    dask_client._handle_message({"left": "tls://a:1"})
    dask_client._handle_message({"refused": "tls://c:1", "host": "node2", "why": "it has Python 3.12"})
    assert dask_client.workers.places == 1
    assert list(dask_client.workers.refused.values()) == [("node2", "it has Python 3.12")]
    assert len(dask_client.events) == 3


def test_an_answer_goes_to_who_asked_and_once(dask_client: Unstarted) -> None:
    first, second = dask_client.submit(handle_request, "{}"), dask_client.submit(handle_request, "{}")
    dask_client._handle_message({"number": 2, "answer": "two"})
    dask_client._handle_message({"number": 2, "answer": "again"})
    dask_client._handle_message({"number": 99, "answer": "nobody's"})
    dask_client._handle_message({"number": 1, "lost": "its worker is gone\x1b[2J"})
    assert second.result() == "two"
    with pytest.raises(EvaluationLost, match=r"gone\\u001b"):
        first.result()


@pytest.mark.parametrize("places", [0, -1, MAX_PLACES + 1, 10**400, "many", None])
def test_no_worker_has_more_places_than_a_machine_can(dask_client: Unstarted, places: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        dask_client._handle_message({"joined": "tls://a:1", "places": places, "handshake": WORKER})
    assert dask_client.workers.places == 0


@given(st.dictionaries(names, plain, max_size=4))
def test_whatever_it_says_is_taken_or_refused(message) -> None:
    dask_client = Unstarted()
    future: Future[str] = dask_client.submit(handle_request, "{}")
    try:
        dask_client._handle_message(message)
    except (KeyError, TypeError, ValueError, AttributeError, SandboxError, OverflowError):
        pass  # for all of these it is replaced
    finally:
        dask_client.close()
    assert future.done()
    assert not any(unseen(line) or "\n" in line for line in dask_client.events)


def test_what_is_no_line_ends_it() -> None:
    assert unpack_line(b'{"a": 1}\n') == {"a": 1}
    for line in (
        b"",
        b"{}",
        b"[]\n",
        b"nonsense\n",
        b"[" * 100_000 + b"\n",
        b"\xff\n",
        b" " * MAX_LINE_BYTES + b"{}\n",
    ):
        assert unpack_line(line) is None


def test_it_carries_one_text_to_one_function_and_nothing_else(dask_client: Unstarted) -> None:
    for words in ((print, "x"), (handle_request, b"x"), (handle_request, "x", b"y"), (handle_request,)):
        with pytest.raises(SandboxError):
            dask_client.submit(*words)


def test_who_waits_is_told_why_nothing_more_comes(dask_client: Unstarted) -> None:
    waiting = dask_client.submit(handle_request, "{}")
    dask_client._handle_message({"fatal": "there is no worker that can be used"})
    dask_client._lose_all(dask_client.fatal)
    with pytest.raises(SandboxError):
        waiting.result()
    with pytest.raises(SandboxError):
        dask_client.submit(handle_request, "{}")


@pytest.mark.slow
def test_a_process_that_ends_at_once_is_said_with_its_last_words(monkeypatch) -> None:
    need("distributed")
    order = {"handshake": {}, "places": {}, "tls": None}
    ended: list[str] = []
    dask_client = DaskClient(order, ended.append, lambda: None, ended.append, {})
    dask_client.start()
    give_up = time.monotonic() + 60
    while not dask_client.fatal and time.monotonic() < give_up:
        time.sleep(0.02)
    dask_client.close()
    assert "the Dask process ended" in dask_client.fatal
    assert "KeyError: 'manifest'" in dask_client.fatal
    assert json.dumps(ended) == "[]"


def test_whatever_keeps_workers_from_being_started_ends_the_run() -> None:
    def moved(address: str) -> None:
        raise ValueError(f"a library does not like {address}")

    dask_client = DaskClient({"places": {}}, print, lambda: None, moved, {})
    dask_client._handle_message({"address": "tls://a:1"})
    give_up = time.monotonic() + 20
    while not dask_client.fatal and time.monotonic() < give_up:
        time.sleep(0.01)
    assert dask_client.fatal == "a library does not like tls://a:1"


def waited_for(how: ClusterSettings, *said: tuple[float, dict[str, object]]) -> float:
    """Seconds until a run that hears this, each after some seconds, begins; it raises what ends it."""

    async def ready() -> float:
        cluster, began = Cluster(Content((), "eval.py", {}), 0, LatenessRule()), time.monotonic()
        cluster.dask_client = Unstarted()
        for after_s, message in said:
            asyncio.get_running_loop().call_later(after_s, cluster.dask_client._handle_message, message)
        try:
            await cluster.wait_ready(how)
        finally:
            cluster.dask_client.close()
        return time.monotonic() - began

    return asyncio.run(ready())


REFUSED = {"refused": "tls://old:1", "host": "node2", "why": "it has oragent 0.0.1"}
JOINED = {"joined": "tls://a:1", "places": 1, "handshake": WORKER}


@pytest.mark.slow
def test_a_run_waits_for_a_worker_that_is_looked_at_when_another_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.connect.GRACE_S", 0.3)
    both = (0.0, {"looked_at": 2}), (0.1, {"looked_at": 1}), (0.1, REFUSED)
    assert (
        waited_for(
            ClusterSettings(ClusterKind.ADDRESS, address="tls://a:1"), *both, (1.0, {"looked_at": 0}), (1.0, JOINED)
        )
        >= 1.0
    )
    with pytest.raises(SandboxError, match="node2"):
        waited_for(
            ClusterSettings(ClusterKind.ADDRESS, address="tls://a:1"), *both, (0.5, {"looked_at": 0}), (9.0, JOINED)
        )


def test_jobs_that_are_all_refused_end_a_run_however_many_cores_they_have(monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.connect.GRACE_S", 0.1)
    with pytest.raises(SandboxError, match="node2"):
        waited_for(ClusterSettings(ClusterKind.SLURM, jobs=1, cores=8), (0.0, REFUSED))
