"""Every system takes the same settings of models and budget: prices, base URL, models of roles, a budget of money."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, UntrustedError
from oragent._base.settings import dump_settings
from oragent.cli.app import app
from oragent.formulate.api import formulate
from oragent.formulate.folder import read_request
from oragent.formulate.options import ROLES
from oragent.ledger import Study
from oragent.ledger.replies import RecordedReply
from oragent.llm.model_settings import RuntimeSettings, RuntimeWords, build_runtime
from oragent_benchmarks.workspace.generating.instances import write_set
from tests.llm.chat_server import ChatServer
from tests.workspace.bakery import DATA, STORY
from tests.workspace.release import put

PRICES = "models:\n  priced: {in: 100000.0, out: 100000.0}\n"  # a reply of 15 tokens costs 1.5 dollars
SYSTEMS = {
    "formulate": ("program", "terminology"),
    "converse": ("agent", "agent"),
    "workspace": ("builder", "builder"),
}  # roles that are asked first and may have a model of their own


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    put(tmp_path, {"configs/prices.yaml": PRICES, "problem.md": "Pick 3 loaves at most; each brings 2 dollars."})
    put(tmp_path / "bakery", {"docs/a.md": STORY, "data/general_parameters.csv": DATA})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def ask(system: str, *words: str) -> str:
    """Have a system ask its model from the command line; what it prints."""
    commands = {
        "formulate": ["formulate", "problem.md", "--outputs", "out", *words],
        "converse": ["converse", "workshop", "--agent", "T-P-P", "--outputs", "out", *words],
        "workspace": ["workspace", "build", "bakery", *words],
    }
    done = CliRunner().invoke(app, commands[system], input="Make more tables.\nAnd chairs.\nAnd both.\nquit\n")
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return " ".join(done.output.split())


def replies(system: str) -> list[RecordedReply]:
    folder = Path("bakery") if system == "workspace" else next(Path("out").glob("*/*"))
    with Study(folder, {}, build_runtime({}).budget) as study:
        return study.all_replies()


def asked(server: ChatServer) -> list[str]:
    return [request["model"] for request in server.requests]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_budget_of_money_ends_it_by_the_price_list_of_the_project(work: Path, system: str) -> None:
    with ChatServer() as server:
        told = ask(system, "--model", "priced", f"model.base_url={server.url}", "budget.money=2")
    assert "the budget of 2 US dollars is used up" in told
    costs = [reply.money for reply in replies(system)]
    assert costs == [1.5, 1.5]  # the check of the server, and the first call
    assert asked(server) == ["priced", "priced"]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_settings_come_from_a_file_and_a_role_has_a_model_of_its_own(work: Path, system: str) -> None:
    role = SYSTEMS[system][0]
    with ChatServer() as server:
        settings = {
            "model": {"name": "main", "base_url": server.url},
            "models": {role: {"name": "special", "base_url": server.url}},
            "budget": {"model_calls": 3},
        }
        (work / "models.yaml").write_text(json.dumps(settings))
        told = ask(system, "--config", "models.yaml")
    assert "the budget of 3 model calls is used up" in told
    assert sorted(asked(server)[:2]) == ["main", "special"]  # the checks
    assert asked(server)[2:] == ["special"]
    assert role in {reply.role for reply in replies(system)}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_role_that_is_none_is_named_in_one_line(work: Path, system: str) -> None:
    role = SYSTEMS[system][0]
    done = CliRunner().invoke(
        app,
        {
            "formulate": ["formulate", "problem.md", "--model", "m", f"models.{role}s.name=x"],
            "converse": ["converse", "workshop", "--agent", "T-P-P", "--model", "m", f"models.{role}s.name=x"],
            "workspace": ["workspace", "build", "bakery", "--model", "m", f"models.{role}s.name=x"],
        }[system],
    )
    assert isinstance(done.exception, ConfigError)
    assert f"models.{role}s does not name a role: did you mean {role!r}?" in str(done.exception)


@pytest.mark.slow
def test_python_takes_the_same_settings(work: Path) -> None:
    with ChatServer() as server, pytest.raises(Exception, match="budget"):
        formulate(
            "Pick 3 loaves at most.", folder=work / "out",
            settings={"model": {"name": "priced", "base_url": server.url}, "budget": {"money": 2}},
        )  # fmt: skip
    assert len(server.requests) == 2


def test_a_folder_keeps_its_settings_and_a_larger_budget_goes_on(work: Path) -> None:
    with ChatServer() as server:
        ask("formulate", "--model", "priced", f"model.base_url={server.url}", "budget.money=2")
        folder = next(Path("out").glob("*/*"))
        assert read_request(folder).runtime.budget.money == 2.0
        done = CliRunner().invoke(app, ["resume", str(folder), "budget.money=5"])
    assert "the budget of 5 US dollars is used up" in " ".join(done.output.split())
    assert read_request(folder).runtime.model_name == "priced"


@pytest.mark.slow
@pytest.mark.parametrize("system", ["formulate", "converse", "workspace"])
def test_a_folder_of_somebody_else_asks_no_server_before_its_user_agrees(
    work: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer() as server:
        ask(system, "--model", "priced", f"model.base_url={server.url}", "budget.model_calls=1")
        monkeypatch.setenv("XDG_STATE_HOME", str(work / "another machine"))
        folder = Path("bakery") if system == "workspace" else next(Path("out").glob("*/*"))
        count = len(server.requests)
        words = ["converse", str(folder)] if system == "converse" else ["resume", str(folder)]
        done = CliRunner().invoke(app, words, input="quit\n")
        assert isinstance(done.exception, UntrustedError)
        assert len(server.requests) == count
        agreed = CliRunner().invoke(app, [*words, "--trust"], input="quit\n")
        assert not isinstance(agreed.exception, UntrustedError)
        assert len(server.requests) > count


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("budget.evaluations=5",), "budget.evaluations bounds a search; here budget.model_calls"),
        (("model.nam=x",), "did you mean 'name'"),
        (("budget.mony=2",), "did you mean 'money'"),
        (("models.agent.name=x",), "need a main model"),
    ],
)
def test_a_wrong_setting_is_one_line(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as problem:
        RuntimeWords(words).read_runtime(["agent"])
    assert "\n" not in str(problem.value)


BENCHES = {
    "formulate": ("--set", "families", "--limit", "1", "--methods", "standard"),
    "converse": ("--agents", "T-P-P", "--utilities", "2", "--decider", "rational", "--paradigms", "one-shot"),
    "workspace": ("--set", "made", "--limit", "1", "--modes", "build"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize("system", BENCHES)
@pytest.mark.parametrize("given", ["words", "file"])
def test_benchmarks_take_the_same_settings_of_models_and_budget(work: Path, system: str, given: str) -> None:
    list(write_set(work / "made", 0, 1, 1))
    with ChatServer() as server:
        settings = {"model": {"base_url": server.url, "temperature": 0.25}, "budget": {"money": 2}}
        (work / "models.yaml").write_text(json.dumps(settings))
        more = (
            ["--config", "models.yaml"]
            if given == "file"
            else [f"model.base_url={server.url}", "model.temperature=0.25", "budget.money=2"]
        )
        done = CliRunner().invoke(
            app, ["bench", system, *BENCHES[system], "--models", "priced", "--workers", "1", "--outputs", "out", *more]
        )
    assert done.exit_code == 3, done.output
    assert asked(server) == ["priced", "priced"]
    (database,) = Path("out").rglob("run.db")
    with Study(database.parent, {}, build_runtime({}).budget) as study:
        assert [reply.money for reply in study.all_replies()] == [1.5, 1.5]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize("system", BENCHES)
def test_a_benchmark_refuses_a_wrong_setting_before_it_makes_a_folder(work: Path, system: str) -> None:
    list(write_set(work / "made", 0, 1, 1))
    for word, message in (("model.name=x", "name contestants with --models"), ("budget.mony=2", "did you mean")):
        done = CliRunner().invoke(app, ["bench", system, *BENCHES[system], "--models", "m", "--outputs", "out", word])
        assert isinstance(done.exception, ConfigError)
        assert message in str(done.exception)
    assert not Path("out").exists()


def test_settings_are_read_back_as_they_were() -> None:
    words: dict[str, Any] = {"model.name": "a: b", "model.max_tokens": 7, "budget.model_calls": 3}
    runtime = RuntimeWords(("models.agent.name=x", "budget.tokens=9"), words).read_runtime(["agent"])
    assert runtime.model_name == "a: b"
    assert build_runtime(json.loads(json.dumps(dump_settings(runtime)))) == runtime
    assert RuntimeSettings() == build_runtime({})


def test_the_roles_of_formulations_are_those_that_models_are_asked_in() -> None:
    from tests.sources import BENCHMARK_SOURCES, SOURCES

    sources = (*SOURCES, *BENCHMARK_SOURCES)
    texts = "".join(path.read_text() for path in sources if "formulate" in path.parts and path.name != "options.py")
    assert [role for role in ROLES if f'"{role}"' not in texts and f"'{role}'" not in texts] == []
