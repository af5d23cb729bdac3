from pathlib import Path

import pytest

from oragent.report.live.offline import write_report
from oragent.search.store import Store

from . import runs


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty candidates on two islands, some of them broken, one a copy of another, with a model that was paid."""
    folder = tmp_path_factory.mktemp("outputs") / "tsp_aco" / "20250101-120000-funsearch"
    runs.describe(folder)
    rounds = runs.searched(60)
    rounds.append([rounds[1][0]])  # an equal program, made again
    runs.write(folder, rounds, end="the budget of 60 evaluations is used up")
    with Store(folder / "run.db") as store:
        runs.reply(store, 1, money=0.25)
        runs.reply(store, 2, role="reflect", money=0.5, retries=2)
        runs.reply(store, 3, model="local-model", money=None)
    return folder


@pytest.fixture(scope="session")
def report(run: Path) -> Path:
    """Its page."""
    return write_report(run)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Whatever comes from a candidate or a model tries to leave its place."""
    folder = tmp_path / "hostile"
    attack = '</style></svg></pre><script>alert("x")</script><img src=x onerror=alert(1)>\x1b[31m\u202e'
    runs.describe(folder, title=attack, features=[{"name": attack, "bins": 3, "meaning": attack}])
    better = runs.Made(f'{runs.SEED}\n# {attack}\nTEXT = """{attack[:-6]}"""\n', 5.0, (1,), ("0.0",), attack)
    broken = runs.Made("def f(:", None, None, ("0.0",), attack, 1, message=attack)
    runs.write(folder, [[runs.Made(runs.SEED, 6.0, (0,), (), "seed")], [better], [broken]], end=attack)
    with Store(folder / "run.db") as store:
        runs.reply(store, 1, role=attack, model=attack)
    return folder
