"""From Python a cluster is a name, or anything that runs a function elsewhere."""

from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import ConfigError

SETTINGS = "strategy.window=3"


class Here(Executor):
    """Does at once what it is given, here."""

    def submit(self, fn, /, *args, **keys) -> Future:
        future: Future = Future()
        future.set_result(fn(*args, **keys))
        return future


def found(toy: Path, outputs: Path, **keys) -> list:
    run = oragent.run(toy, evaluations=6, seed=2, strategy="gp", outputs=outputs, settings=SETTINGS, **keys)
    return [(one.id, one.candidate.source, one.score, one.placed) for one in run.candidates]


@pytest.mark.slow
def test_an_executor_finds_what_is_found_without_it(toy: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as executor:
        there = found(toy, tmp_path / "there", cluster=executor)
    assert there == found(toy, tmp_path / "here", workers=1)


def test_who_does_not_say_how_much_it_can_is_asked_to(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="workers"):
        found(toy, tmp_path, cluster=Here())
    assert not list(tmp_path.glob("toy/*"))


@pytest.mark.parametrize("cluster", [3, ["local:4"], print])
def test_what_is_neither_is_said_in_one_line(toy: Path, tmp_path: Path, cluster: object) -> None:
    with pytest.raises(ConfigError, match="executor"):
        found(toy, tmp_path, cluster=cluster)


@pytest.mark.slow
def test_a_new_run_has_as_many_rounds_in_flight_as_its_workers_can_use(toy: Path, tmp_path: Path) -> None:
    run = oragent.run(toy, evaluations=3, strategy="gp", outputs=tmp_path, cluster=Here(), workers=10)
    assert "window: 15\n" in (run.folder / "config.yaml").read_text()
