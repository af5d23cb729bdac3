"""What reports sum of a run, and what trackers get, against the events and figures of small cases."""

import itertools

import pytest

from oragent._base.direction import Direction
from oragent.report.fresh import Sets
from oragent.report.run import sum_spending
from oragent.report.significance import MeasuredScore
from oragent.report.tracking.event_adapter import EventAdapter
from oragent.search.config import Config
from oragent.search.events import EventKind, RunEvent


@pytest.mark.parametrize(("seconds", "rate"), [(0.0, None), (0.5, 0.0), (3600.0, 0.0)])
def test_a_rate_needs_time(seconds: float, rate: float | None) -> None:
    assert sum_spending([], [], seconds).per_hour == rate


class Recorded:
    """A tracker that keeps its figures."""

    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, float], int]] = []

    def log(self, figures: dict[str, float], step: int) -> None:
        self.logged.append((dict(figures), step))

    def __getattr__(self, name: str):
        return lambda *given, **named: None


def test_a_tracker_gets_each_evaluation_with_the_failures_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Recorded()
    monkeypatch.setattr("oragent.report.tracking.event_adapter.open_tracker", lambda name: tracker)
    adapter = EventAdapter(["jsonl"], Config(), lambda text: None)
    scores = [10.0, None, 8.0, None, None, 7.0]
    for number, score in enumerate(scores):
        adapter(RunEvent(EventKind.EVALUATED, number, float(number), {"score": score}))
        adapter(RunEvent(EventKind.BEST, number, float(number), {"score": 7.5}))
    expected = []
    for count in range(1, len(scores) + 1):
        failed = float(sum(score is None for score in scores[:count]))
        score = scores[count - 1]
        expected += [({"failed": failed} | ({} if score is None else {"score": score}), count), ({"best": 7.5}, count)]
    assert tracker.logged == expected


def measured(score: float, error: float) -> MeasuredScore:
    return MeasuredScore(score, error, (score - 2 * error, score + 2 * error))


@pytest.mark.parametrize(
    ("direction", "val", "fresh", "verdict"),
    [
        # A gain on val that turns into a loss on the fresh set.
        (Direction.MAXIMIZE, (10.0, 12.0), (10.0, 9.0), "THE GAIN DOES NOT CARRY OVER"),
        (Direction.MINIMIZE, (10.0, 8.0), (10.0, 11.0), "THE GAIN DOES NOT CARRY OVER"),
        # A smaller gain, beyond the noise or within it.
        (Direction.MAXIMIZE, (10.0, 14.0), (10.0, 11.0), "BEYOND CHANCE"),
        (Direction.MAXIMIZE, (10.0, 12.0), (10.0, 11.9), "agree within chance"),
        (Direction.MINIMIZE, (10.0, 8.0), (10.0, 8.1), "agree within chance"),
        # A larger gain on the fresh set is no fault.
        (Direction.MAXIMIZE, (10.0, 11.0), (10.0, 14.0), "agree within chance"),
    ],
)
@pytest.mark.parametrize("sizes", [{}, {"val": ("10",), "fresh": ("10",)}, {"val": ("10",), "fresh": ("20",)}])
def test_gains_of_two_sets_are_compared_in_their_direction(
    direction: Direction, val: tuple[float, float], fresh: tuple[float, float], verdict: str, sizes: dict
) -> None:
    pairs = {name: tuple(measured(score, 0.2) for score in scores) for name, scores in (("val", val), ("fresh", fresh))}
    sentences = Sets(direction, pairs, 7, sizes=sizes).sentences
    (compared,) = [sentence for sentence in sentences if "on val" in sentence]
    assert verdict in compared
    others = {"THE GAIN DOES NOT CARRY OVER", "BEYOND CHANCE", "agree within chance"} - {verdict}
    if verdict != "THE GAIN DOES NOT CARRY OVER":
        assert not any(other in compared for other in others)
    # Sizes are named only where they differ.
    assert ("20" in compared.split("(sizes")[-1] and "(sizes" in compared) is (sizes.get("fresh") == ("20",))
    assert any("=7" in sentence for sentence in sentences)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("error", [0.05, 5.0])
def test_a_set_is_better_or_worse_beyond_its_noise(direction: Direction, error: float) -> None:
    for seed, best in itertools.permutations((10.0, 12.0)):
        sentence = Sets(direction, {"test": (measured(seed, error), measured(best, error))}, None).sentences[0]
        is_better = (best > seed) is (direction is Direction.MAXIMIZE)
        expected = "not shown" if error > 1 else "better" if is_better else "WORSE"
        assert expected in sentence.partition(": ")[2].partition(" than the seed")[0] or expected in sentence
        assert ("WORSE" in sentence) is (error < 1 and not is_better)


def test_without_intervals_nothing_is_claimed() -> None:
    plain = MeasuredScore(10.0, None, None), MeasuredScore(12.0, None, None)
    for sentence in Sets(Direction.MAXIMIZE, {"val": plain, "test": plain}, None).sentences:
        assert "WORSE" not in sentence
        assert "BEYOND" not in sentence
        assert "chance cannot be excluded" in sentence
