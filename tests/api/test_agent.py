"""The strategy ``agent``: a scripted agent works by the reference client, and is killed, confined and counted."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import oragent
from oragent._base.errors import ConfigError, UntrustedError
from oragent.api.mcp import agent_process
from oragent.api.mcp.agent_process import RECIPES, ServerAddress, find_program, list_files, run_agent
from oragent.api.mcp.agent_usage import AgentUsage, read_usage
from oragent.authoring import scaffold
from oragent.report.run import load_run
from oragent.sandbox.confined_command import ProgramAccess
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.search.store import Store
from oragent.search.strategies.agent import EPISODE, CodingAgentSettings, EpisodeEnd, parse_end
from tests.extras import need
from tests.processes import bearing

need("mcp")

# Submits the seed with several powers, each once per run, and reports its tokens.
AGENT = """
import asyncio, json, os, re, sys
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
import httpx

TASK = sys.stdin.read()
RUN = re.search(r"The run is named (\\S+)\\.", TASK)[1]
ENTRY = json.load(open(sys.argv[1]))["mcpServers"]["oragent"]
POWERS = json.loads(sys.argv[2])


async def main():
    async with (
        httpx.AsyncClient(headers=ENTRY["headers"], timeout=60) as web,
        streamable_http_client(ENTRY["url"], http_client=web) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        async def call(name, **arguments):
            return json.loads((await session.call_tool(name, arguments)).content[0].text)
        names = sorted(tool.name for tool in (await session.list_tools()).tools)
        seed = (await call("describe_problem", problem=RUN.partition("/")[0], part="seed"))["text"]
        done = (await call("archive", run=RUN))["spent"]["evaluations"] - 1
        for power in POWERS[done:]:
            answer = await call("submit", run=RUN, program=seed.replace("return value", f"return value / weight**{power}"))
            if "error" in answer:
                break
        tried = {}
        for path in json.loads(os.environ.get("TRIED", "[]")):
            try:
                open(path).read()
                tried[path] = "read"
            except OSError as problem:
                tried[path] = problem.strerror
        print(json.dumps({"tools": names, "tried": tried}))


asyncio.run(main())
print(json.dumps({"type": "result", "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 30},
                  "total_cost_usd": 0.25}))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    scaffold.new("sack", tmp_path / "problems")
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def options(root: Path, powers: list[float], **more: object) -> dict[str, object]:
    words = shlex.join([sys.executable, str(root / "agent.py")])
    command = f"{words} {{mcp}} '{json.dumps(powers)}'"
    # The interpreter's packages, and the script itself.
    readable = [str(root / "agent.py"), *filter(None, sys.path), sys.base_prefix, sys.prefix]
    return {"command": command, "readable": readable, "confined": (not explain_unconfined()), "episodes": 1, **more}


def search(root: Path, powers: list[float], evaluations: int = 9, **more: object) -> oragent.SearchRun:
    settings = {"strategy": {"name": "agent", "options": options(root, powers, **more)}}
    return oragent.run("sack", root=root, evaluations=evaluations, settings=settings, workers=1)


def ends(run: oragent.SearchRun) -> list[EpisodeEnd]:
    with Store(run.folder / "run.db", readonly=True) as store:
        return [end for note in store.notes() if note.kind == EPISODE and (end := parse_end(note.text))]


@pytest.mark.slow
def test_an_agent_submits_in_episodes_and_its_tokens_and_money_count(root: Path) -> None:
    run = search(root, [0.5, 1, 2], episodes=2)
    assert run.complete
    assert run.reason == "the agent has worked for 2 episodes"
    assert run.spent.evaluations == 4
    assert len([record for record in run.candidates if record.candidate.origin == "agent"]) == 3
    assert run.best.score > run.seed.score
    assert [(end.episode, end.submissions, end.has_usage) for end in ends(run)] == [(1, 3, True), (2, 0, True)]
    assert run.spent.tokens == 2 * 150
    assert run.spent.money == pytest.approx(0.5)
    log = (run.folder / "episodes" / "1.log").read_text()
    tools = json.loads(next(line for line in log.splitlines() if line.startswith('{"tools"')))["tools"]
    assert tools == sorted(
        ["archive", "compare", "describe_problem", "evaluate", "get_program", "probe", "submit", "sweep"]
    )
    assert "Bearer" not in log
    again = subprocess.run(
        [sys.executable, "-m", "oragent", "run", "--replay", str(run.folder), "--root", str(root)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stdout + again.stderr
    latest = max((root / "outputs/sack").iterdir(), key=lambda path: path.stat().st_mtime)
    assert [record.source for record in load_run(latest).records] == [record.source for record in run.candidates]


@pytest.mark.slow
@pytest.mark.skipif(bool(explain_unconfined()), reason="this machine cannot hide files")
def test_a_confined_agent_reads_neither_the_scorer_nor_other_files(root: Path, monkeypatch) -> None:
    secret = root / "secret.txt"
    secret.write_text("test instances")
    paths = [str(secret), str(root / "problems/sack/eval.py"), str(Path.home() / ".bashrc"), "/etc/hostname"]
    monkeypatch.setenv("TRIED", json.dumps(paths))
    run = search(root, [1], variables=["TRIED"])
    log = (run.folder / "episodes" / "1.log").read_text()
    tried = json.loads(next(line for line in log.splitlines() if line.startswith('{"tools"')))["tried"]
    assert "read" not in [tried[path] for path in paths[:3]]
    assert tried["/etc/hostname"] == "read"


@pytest.mark.slow
def test_a_budget_that_ends_within_an_episode_still_counts_its_tokens(root: Path) -> None:
    run = search(root, [0.5, 1, 2, 3], evaluations=3)
    assert run.complete
    assert run.spent.evaluations == 3
    stored = oragent.load(run.folder)
    assert stored.spent.tokens == 150
    assert stored.spent.money == pytest.approx(0.25)


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_archive_and_evaluates_nothing_twice(root: Path) -> None:
    powers = [0.25, 0.5, 1, 2, 3]
    whole = search(root, powers)
    settings = [f"strategy.options={json.dumps(options(root, powers))}", "workers=1"]
    command = [sys.executable, "-m", "oragent", "run", "sack", *settings, "--strategy", "agent", "--evaluations", "9"]
    with subprocess.Popen(
        [*command, "--root", str(root), "--outputs", str(root / "killed")], stdout=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(root.glob("killed/sack/*/candidates/2.0")):
            time.sleep(0.05)
        process.kill()
    (folder,) = (root / "killed" / "sack").iterdir()
    before = load_run(folder)
    assert 2 <= before.spend.evaluations < 6
    run = oragent.resume(folder)
    assert run.complete
    assert [record.source for record in run.candidates] == [record.source for record in whole.candidates]
    assert [record.score for record in run.candidates] == [record.score for record in whole.candidates]
    assert run.spent.evaluations == whole.spent.evaluations == 6


@pytest.mark.slow
def test_an_agent_is_checked_before_a_run_begins(root: Path) -> None:
    with pytest.raises(ConfigError):
        search(root, [1], command="")
    with pytest.raises(ConfigError):
        search(root, [1], command="no-such-agent-program")
    assert not (root / "outputs").exists()


def test_a_folder_of_another_person_names_no_command_unseen(root: Path, tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    from oragent.search.checks import expect_trust
    from oragent.search.config import build_config

    config = build_config({}, ["strategy.name=agent", "strategy.options.command=rm -rf x"], "test")
    with pytest.raises(UntrustedError, match="rm -rf x"):
        expect_trust(root / "run", config)


def test_recipes_name_the_server_and_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in RECIPES:
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name in RECIPES:
        program = find_program(CodingAgentSettings(recipe=name, confined=False), "a-model")
        words, recipe = program.words, program.recipe
        assert words[0] == str(tmp_path / name)
        assert words[words.index("--model") + 1] == "{model}"
        assert any("{mcp}" in word or "{url}" in word for word in words)
        assert recipe.writable


def test_a_program_that_is_named_by_its_path_shows_itself_alone(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("agent.sh", "bin/agent.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    files = {
        command: find_program(CodingAgentSettings(command=command, confined=False), "").files
        for command in ("./agent.sh", "./bin/agent.sh")
    }
    assert files == {"./agent.sh": (str(tmp_path / "agent.sh"),), "./bin/agent.sh": (str(tmp_path / "bin/agent.sh"),)}
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    installed = find_program(CodingAgentSettings(command="agent.sh", confined=False), "").files
    assert {str(tmp_path / "bin"), str(tmp_path / "lib")} <= set(installed)
    assert str(tmp_path) not in installed
    package = tmp_path / "node_modules" / "agent"
    package.mkdir(parents=True)
    (package / "cli.js").write_text("")
    assert str(tmp_path / "node_modules") in list_files(str(package / "cli.js"), is_installed=False)
    (tmp_path / "pyvenv.cfg").write_text("")
    assert str(tmp_path / "pyvenv.cfg") in list_files(str(tmp_path / "bin/agent.sh"), is_installed=False)


@pytest.mark.parametrize("confined", [True, False])
def test_an_episode_ends_at_its_limit_with_all_processes_of_the_agent(confined: bool, tmp_path: Path) -> None:
    if confined and explain_unconfined():
        pytest.skip("this machine cannot confine an agent")
    mark = f"sleep 71.{confined:d}717"
    agent = tmp_path / "agent.sh"
    agent.write_text(f"#!/bin/sh\ntrap '' TERM\nsetsid {mark} &\nls {tmp_path}\necho told >&2\n{mark}\n")
    agent.chmod(0o755)
    settings = CodingAgentSettings(command=str(agent), confined=confined, episode_s=1.0, ports=None)
    begun = time.monotonic()
    address = ServerAddress("http://127.0.0.1:1/mcp", "token")
    output = asyncio.run(run_agent(settings, find_program(settings, ""), address, "task", ""))
    assert time.monotonic() - begun < 30
    assert output.ended == "ended after 1 s"
    assert output.stdout.split() == (["agent.sh"] if confined else sorted(os.listdir(tmp_path)))
    assert output.stderr == "told\n"
    assert bearing(mark.replace(" ", "\0")) == []


def test_an_agent_connects_to_its_tools_its_model_and_named_ports_only(monkeypatch, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:11434/v1")
    monkeypatch.setenv("HTTPS_PROXY", "http://user@proxy")
    given: list[ProgramAccess] = []
    monkeypatch.setattr(agent_process, "wrap_command", lambda argv, access: given.append(access) or ["/bin/true"])
    monkeypatch.setattr(agent_process, "explain_unconfined", lambda: "")
    monkeypatch.setattr(agent_process, "can_restrict_ports", lambda: True)
    address = ServerAddress("http://127.0.0.1:4711/mcp", "token")
    for ports in ((443,), (), None):
        settings = CodingAgentSettings(recipe="claude", ports=ports)
        asyncio.run(run_agent(settings, find_program(settings, ""), address, "task", ""))
    assert [access.ports and set(access.ports) for access in given] == [
        {443, 4711, 11434, 80}, {4711, 11434, 80}, None,
    ]  # fmt: skip
    monkeypatch.setattr(agent_process, "can_restrict_ports", lambda: False)
    assert find_program(CodingAgentSettings(recipe="claude", ports=None), "")
    with pytest.raises(ConfigError):
        find_program(CodingAgentSettings(recipe="claude"), "")
    monkeypatch.setattr(agent_process, "explain_unconfined", lambda: "no namespaces")
    assert find_program(CodingAgentSettings(recipe="claude", confined=False), "")
    with pytest.raises(ConfigError):
        find_program(CodingAgentSettings(recipe="claude", ports=None), "")


@pytest.mark.parametrize(
    ("output", "usage"),
    [
        ("", None),
        ("hello {", None),
        ('{"type": "result", "usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5, '
         '"cache_creation_input_tokens": 1}, "total_cost_usd": 0.5}', AgentUsage(16, 2, 5, 0.5)),
        ('{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}\n'
         '{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":4,"output_tokens":3}}',
         AgentUsage(30, 5, 8, None)),
        ('{"usage": {"input_tokens": -1, "output_tokens": "many"}}', AgentUsage()),
        ('{\n "usage": {"input_tokens": 3, "output_tokens": 4}\n}', AgentUsage(3, 4)),
        ("[" * 100_000, None),
    ],
)  # fmt: skip
def test_the_usage_of_known_agents_is_read(output: str, usage: AgentUsage | None) -> None:
    assert read_usage(output) == usage


def test_an_end_is_no_submission_and_a_submission_no_end() -> None:
    end = EpisodeEnd(2, "exited with code 0", 3, True)
    assert parse_end(end.dump()) == end
    assert parse_end('{"program": "def f(): pass", "parents": [], "idea": ""}') is None
