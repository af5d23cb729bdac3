"""A strategy of one's own is a Python file anywhere: it runs, is resumed, compared and reported like those that ship."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.report.run import load_run
from oragent.search.config import build_config
from oragent.search.strategies import GROUP, STRATEGIES, choose_strategy, resolve_strategy
from oragent.search.strategy import Strategy
from tests.cli.test_cli import complaint, oragent

GUIDE = Path(__file__).parents[2] / "docs" / "strategies.md"
HILL = GUIDE.read_text().partition("## A strategy of your own")[2].partition("```python\n")[2].partition("```")[0]


@pytest.fixture
def hill(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "climb.py"
    path.parent.mkdir()
    path.write_text(HILL)
    return path


@pytest.mark.slow
def test_it_runs_resumes_from_its_own_copy_and_is_reported(toy: Path, tmp_path: Path, hill: Path) -> None:
    done = oragent("run", "toy", "--strategy", hill, "--evaluations", 8, "strategy.options.tries=40", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "outputs" / "toy").glob("*-hill")
    assert (run / "strategy.py").read_text() == HILL
    hill.unlink()
    moved = run.rename(tmp_path / "moved")
    assert oragent("resume", moved, "budget.evaluations=12", cwd=tmp_path).returncode == 0
    data = load_run(moved)
    assert (data.about.strategy_name, data.about.island_count, data.spend.evaluations) == ("hill", 1, 12)
    assert data.best.score < data.seed.score
    assert "hill" in (moved / "report.html").read_text()
    with contextlib.closing(sqlite3.connect(moved / "run.db")) as db, db:
        assert db.execute("SELECT COUNT(*) FROM candidates WHERE round > 0").fetchone()[0] >= 11


@pytest.mark.slow
def test_it_is_compared(toy: Path, tmp_path: Path, hill: Path) -> None:
    words = ("compare", "toy", "--strategies", f"gp,{hill}", "--seeds", 1, "--evaluations", 4)
    done = oragent(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "outputs" / "comparison" / "report.html").read_text()
    assert "toy by hill, seed 0" in page
    again = oragent("compare", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("complete before") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def round(run): pass", "exports nothing as STRATEGY, expected an oragent.Strategy"),
        ("STRATEGY = 7", "exports a int as STRATEGY"),
        ("def f(:", "line 1"),
        ("import no_such_module", "cannot be run: ModuleNotFoundError"),
        (HILL.replace('name="hill"', 'name="my hill"'), "a strategy's name must be a plain word, not 'my hill'"),
        (HILL.replace("window=2", "window=0"), "islands and window must be positive"),
    ],
)
def test_a_file_that_is_no_strategy_is_told_in_one_line(
    toy: Path, tmp_path: Path, hill: Path, text: str, words: str
) -> None:
    hill.write_text(text)
    assert words in complaint(oragent("run", "toy", "--strategy", hill, cwd=tmp_path))
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_a_bug_of_it_is_one_line_that_says_where_and_the_run_is_kept(toy: Path, tmp_path: Path, hill: Path) -> None:
    hill.write_text(HILL.replace("best, about, most =", "run.number > 2 and 1 / 0\n    best, about, most ="))
    done = oragent("run", "toy", "--strategy", hill, "--evaluations", 8, cwd=tmp_path)
    said = complaint(done)
    assert "strategy 'hill' fails in round 3: ZeroDivisionError: division by zero" in said
    assert said.endswith("strategy.py, line 15)")
    assert "everything so far is kept: oragent resume" in done.stdout


def test_a_name_that_nobody_has_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="funsearch"):
        choose_strategy(build_config({}, ["strategy.name=funsaerch"], "test"))
    with pytest.raises(
        ConfigError,
        match=r"unknown strategy .simulated_cooling.: there are ael, agent, .*, or_agent, portfolio, random, reevo, tide\. Your own",
    ):
        choose_strategy(build_config({}, ["strategy.name=simulated_cooling"], "test"))
    with pytest.raises(ConfigError):
        choose_strategy(build_config({}, ["strategy.name=gone.py"], "test"))


class Point:
    """An entry point as a package declares it."""

    def __init__(self, name: str, offered: object) -> None:
        self.name, self._offered = name, offered

    def load(self) -> object:
        if isinstance(self._offered, Exception):
            raise self._offered
        return self._offered


def test_a_package_offers_strategies_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Strategy(name="mine", round=STRATEGIES["gp"].round, asks_model=False)
    points = [Point("mine", mine), Point("broken", ImportError("gone")), Point("other", 7)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == GROUP else [])
    assert choose_strategy(build_config({}, ["strategy.name=mine"], "test")) is mine
    with pytest.raises(ConfigError, match="broken"):
        choose_strategy(build_config({}, ["strategy.name=broken"], "test"))
    with pytest.raises(ConfigError):
        choose_strategy(build_config({}, ["strategy.name=other"], "test"))
    with pytest.raises(ConfigError):
        choose_strategy(build_config({}, ["strategy.name=mime"], "test"))


def test_options_are_checked_by_the_strategy(hill: Path) -> None:
    named = f"strategy.name={hill}"
    with pytest.raises(ConfigError, match="tries"):
        resolve_strategy(build_config({}, [named, "strategy.options.tries=far"], "test"))
    with pytest.raises(ConfigError):
        resolve_strategy(build_config({}, ["strategy.name=gp", "strategy.options.tries=1"], "test"))


def test_every_shipped_strategy_says_under_its_own_name_what_an_engine_needs() -> None:
    assert list(STRATEGIES) == sorted(STRATEGIES)
    for name, strategy in STRATEGIES.items():
        assert strategy.name == name
    assert [name for name, one in STRATEGIES.items() if not one.asks_model] == ["gp"]
