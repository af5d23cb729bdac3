"""A search from its folder to its engine: what is recorded, told and passed on, and what remains after a failure."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.errors import ConfigError, ProblemError
from oragent.llm.model import Reply
from oragent.search import launch
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder
from oragent.search.launch import Evaluations, LaunchOptions
from oragent.search.starting import InitialPrograms
from oragent.search.store import CORE, ISOLATION, NOISE, REQUIRED_PACKAGES, Store
from oragent.search.strategy import Strategy
from tests.search.test_engine import climb
from tests.search.test_engine import search as run_search

CHECKED = [Reply("OK", model="m", tokens_in=5, tokens_out=2, money=0.5, seconds=0.0)]


class Launched:
    """One search whose engine is replaced, and its course."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.course: list[Any] = []
        self.told: list[str] = []
        self.engine: dict[str, Any] = {}
        self.places = Evaluations(self._pool, remarks=("a remark", ""))
        self.failure: BaseException | None = None
        self.checks: list[Reply] = []
        self.model: Any = "model"
        self.result = SearchResult("the end", True, SimpleNamespace(), checks=SimpleNamespace())  # type: ignore[arg-type]
        monkeypatch.setattr(RunFolder, "remark", "of the folder")
        monkeypatch.setattr(launch, "Engine", self._engine)
        monkeypatch.setattr(launch, "open_evaluations", self._open_evaluations)
        monkeypatch.setattr(launch, "_open_models", self._open_models)
        monkeypatch.setattr(launch, "_ask_offers", self._ask_offers)
        monkeypatch.setattr(launch, "describe_core_speed", lambda: "fast")
        monkeypatch.setattr(launch, "describe_noise", lambda problem: "noisy")
        monkeypatch.setattr(launch, "check_protocol", lambda *given: self.course.append(("protocol", *given)))

    def _pool(self) -> Any:
        return SimpleNamespace(close=lambda: self.course.append("pool closed"))

    @asynccontextmanager
    async def _open_evaluations(self, *given: Any) -> AsyncIterator[Evaluations]:
        yield self.places
        self.course.append("evaluations closed")

    @asynccontextmanager
    async def _open_models(self, *given: Any) -> AsyncIterator[Any]:
        yield self.model, {"role": "cast"}, self.checks

    async def _ask_offers(self, folder: RunFolder, store: Store, pool: Any) -> frozenset[str]:
        return frozenset({"offer"})

    def _engine(self, folder: RunFolder, store: Store, pool: Any, *given: Any) -> Any:
        names = ("strategy", "model", "observer", "cast", "offers", "tell", "since", "on_event")
        self.engine = {"folder": folder, **dict(zip(names, given, strict=True))}

        async def run() -> SearchResult:
            self.course.append("run")
            self.places.notes("from a thread")
            self.places.notes("from a thread")
            await asyncio.sleep(0)
            if self.failure is not None:
                raise self.failure
            return self.result

        return SimpleNamespace(run=run)

    def search(self, folder: RunFolder, replay: Path | None = None, **options: Any) -> SearchResult:
        config = options.pop("config", folder.config)

        @contextmanager
        def steering(engine: Any) -> Iterator[None]:
            self.course.append("steered")
            yield

        options = {"overrides": LaunchOptions(strategy=Strategy(name="own", round=climb)), **options}
        return asyncio.run(
            launch.search(
                config, folder.root, options.pop("problem", folder.problem), lambda: folder, lambda progress: None, replay,
                steering=steering, tell=self.told.append, **options,
            )
        )  # fmt: skip


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    return Launched(monkeypatch)


def meta(folder: RunFolder, *keys: str) -> list[str | None]:
    with Store(folder.database, readonly=True) as store:
        return [store.meta(key) for key in keys]


RECORDED = (ISOLATION, REQUIRED_PACKAGES, CORE, NOISE)


def test_a_new_run_records_its_start_and_passes_all_to_its_engine(begun, launched: Launched) -> None:
    folder = begun("model.name=m")
    problem = replace(folder.problem, knowledge=" Known.\n")
    folder, launched.checks = replace(folder, problem=problem), CHECKED
    start = InitialPrograms(("def guess(x):\n    return 5\n",), "Lessons.")
    events: list[Any] = []
    result = launched.search(folder, start=start, isolation={"network": ["a"]}, on_event=events.append)
    assert result == launched.result
    assert launched.told == ["a remark", "of the folder", "from a thread"]
    assert launched.course == [
        ("protocol", folder.config.protocol, {"offer"}), "steered", "run", "pool closed", "evaluations closed"
    ]  # fmt: skip
    assert meta(folder, *RECORDED, "lessons") == ['{"network": ["a"]}', None, "fast", "noisy", "Lessons."]
    with Store(folder.database, readonly=True) as store:
        assert store.initial_sources() == list(start.sources)
        assert store.checks().model_calls == 1
    engine = launched.engine
    assert engine["folder"].problem.knowledge == "Known.\n\nLessons."
    assert (engine["strategy"].name, engine["model"], engine["cast"]) == ("own", "model", {"role": "cast"})
    assert engine["offers"] == {"offer"}
    assert engine["on_event"] == events.append
    # A second launch records nothing anew.
    launched.search(folder, isolation={"network": ["b"]})
    assert meta(folder, ISOLATION) == ['{"network": ["a"]}']
    assert launched.told.count("from a thread") == 1


@pytest.mark.parametrize(
    ("settings", "changes", "isolation", "core"),
    [
        ((), {}, True, None),
        (("model.name=m",), {"cluster": "tcp://a:1"}, False, None),
        (("model.name=scripted",), {}, True, None),
        (("model.name=m",), {}, True, "fast"),
    ],
)
def test_only_a_run_on_this_machine_records_its_isolation_and_with_a_model_its_speed(
    begun, launched: Launched, settings: tuple[str, ...], changes: dict[str, Any], isolation: bool, core: str | None
) -> None:
    folder = begun(*settings)
    config = replace(folder.config, **changes)
    launched.search(folder, config=config, isolation={"network": []})
    assert meta(folder, ISOLATION, CORE) == [json.dumps({"network": []}) if isolation else None, core]
    silent = begun(*settings)
    launched.search(silent, config=config)
    assert meta(silent, ISOLATION) == [None]


def test_a_run_that_began_keeps_its_start(begun, launched: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun("budget.evaluations=3")
    monkeypatch.undo()
    run_search(folder)
    again = Launched(monkeypatch)
    again.search(folder, start=InitialPrograms(("def guess(x):\n    return 5\n",), "Lessons."))
    assert meta(folder, "lessons", NOISE) == [None, None]
    with Store(folder.database, readonly=True) as store:
        assert store.initial_sources() == []


def test_a_replay_has_the_replies_of_the_first_run_alone(begun, launched: Launched) -> None:
    first, second = begun("budget.evaluations=3"), begun("model.name=m")
    source = "def guess(x):\n    return 5\n"
    launched.search(first, start=InitialPrograms((source,), ""))
    launched.search(second, first.database)
    model = launched.engine["model"]
    assert model != "model"
    assert type(model).__name__ == "ReplayModel"
    with Store(second.database, readonly=True) as store:
        assert store.initial_sources() == [source]
    assert meta(second, CORE) == [None]


@pytest.mark.parametrize(
    ("failure", "remains"), [(KeyboardInterrupt(), True), (asyncio.CancelledError(), True), (ProblemError("no"), False)]
)
def test_a_new_run_that_fails_leaves_no_folder_and_a_stopped_one_does(
    begun, launched: Launched, failure: BaseException, remains: bool
) -> None:
    folder = begun()
    launched.failure = failure
    with pytest.raises(type(failure)):
        launched.search(replace(folder, is_new=True))
    assert folder.path.is_dir() is remains
    assert "pool closed" in launched.course


def test_a_search_for_another_language_begins_nothing(begun, launched: Launched) -> None:
    folder = begun()
    strategy = Strategy(name="own", round=climb, languages=("cpp",))
    with pytest.raises(ConfigError):
        launched.search(folder, overrides=LaunchOptions(strategy=strategy))
    assert launched.course == []


def test_the_gaps_of_a_seed_are_told_by_breeding_alone(
    begun, launched: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "describe_missing_place", lambda problem: "no place")
    for name, told in (("own", False), ("gp", True)):
        launched.told.clear()
        folder = begun()
        launched.search(folder, overrides=LaunchOptions(strategy=Strategy(name=name, round=climb)))
        launched.search(folder, overrides=LaunchOptions(strategy=Strategy(name=name, round=climb)))
        assert launched.told.count("no place") == told
