"""Who is there, who is used, and who has what."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from oragent.evaluation.cluster.handshake import WorkerRegistry, WorkerStatus


def test_a_worker_is_used_once_it_is_accepted() -> None:
    roster = WorkerRegistry()
    assert roster.update({"a": 2}) == (["a"], [])
    assert roster.assign_copy(1, "x") is None
    roster.accept_worker("a")
    assert (roster.assign_copy(1, "x"), roster.assign_copy(2, "y"), roster.assign_copy(3, "z")) == ("a", "a", None)


def test_a_second_copy_goes_elsewhere() -> None:
    roster = WorkerRegistry()
    roster.update({"a": 8, "b": 1})
    for address in "ab":
        roster.accept_worker(address)
    assert {roster.assign_copy(1, "x"), roster.assign_copy(2, "x")} == {"a", "b"}
    assert roster.assign_copy(3, "x") is None


def test_who_leaves_takes_along_what_it_had() -> None:
    roster = WorkerRegistry()
    roster.update({"a": 2, "b": 2})
    for address in "ab":
        roster.accept_worker(address)
    at = {number: roster.assign_copy(number, str(number)) for number in range(4)}
    _, lost = roster.update({"b": 2})
    assert sorted(lost) == [number for number, address in at.items() if address == "a"]
    assert roster.places == 2


def test_who_is_in_trouble_rests_longer_each_time() -> None:
    roster = WorkerRegistry()
    roster.update({"a": 1})
    now = 0.0
    for wait_s in (15, 30, 60, 120, 240, 300, 300):
        roster.accept_worker("a")
        roster.rest_worker("a", now)
        assert roster.places == 0
        assert roster.wake_rested(now + wait_s - 1) == []
        now += wait_s
        assert roster.wake_rested(now) == ["a"]


class Cluster(RuleBasedStateMachine):
    """Workers come and go, work begins and ends, in any order."""

    addresses = Bundle("addresses")

    def __init__(self) -> None:
        super().__init__()
        self.roster, self.there, self.number, self.flying = WorkerRegistry(), {}, 0, {}

    @rule(target=addresses, number=st.integers(0, 5), places=st.integers(1, 3))
    def join(self, number: int, places: int) -> str:
        self.there.setdefault(f"w{number}", places)
        self._look()
        return f"w{number}"

    @rule(address=addresses)
    def leave(self, address: str) -> None:
        self.there.pop(address, None)
        self._look()

    def _look(self) -> None:
        _, lost = self.roster.update(self.there)
        for number in lost:
            assert self.flying.pop(number)[0] not in self.there

    @rule(address=addresses)
    def accept(self, address: str) -> None:
        self.roster.accept_worker(address)

    @rule(address=addresses)
    def rest(self, address: str) -> None:
        self.roster.rest_worker(address, 0.0)

    @rule(key=st.sampled_from("xyz"))
    def begin(self, key: str) -> None:
        self.number += 1
        if address := self.roster.assign_copy(self.number, key):
            assert self.roster.workers[address].standing is WorkerStatus.FIT
            assert (address, key) not in self.flying.values()
            self.flying[self.number] = address, key

    @rule(data=st.data(), well=st.booleans())
    def end(self, data, well: bool) -> None:
        if self.flying:
            number = data.draw(st.sampled_from(sorted(self.flying)))
            del self.flying[number]
            self.roster.end_copy(number, well=well)

    @invariant()
    def nobody_has_more_than_its_places_and_free_is_free(self) -> None:
        for worker in self.roster.workers.values():
            assert len(worker.running) <= worker.places
            assert (worker.address in self.roster._free) == (worker.free > 0)
        running = {number for worker in self.roster.workers.values() for number in worker.running}
        assert running == set(self.flying)


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=30, deadline=None)
