"""The process of a coding agent: its command, its folder, its limits and its output."""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.sandbox.confined_command import add_places, can_confine, wrap_command
from oragent.search.strategies.agent import CodingAgentSettings

TOKEN_VARIABLE = "ORAGENT_MCP_TOKEN"
SERVER = "oragent"
# Number of bytes of each output that are kept, the last ones.
MAX_OUTPUT = 4 << 20
# Variables that every agent gets.
VARIABLES = (
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TERM",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "NO_PROXY",
)
# Seconds between a request to end and the end by force.
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Recipe:
    """How a known agent is started."""

    command: str
    # Files that it changes, in the home folder.
    writable: tuple[str, ...] = ()
    # Environment variables that hold its key.
    variables: tuple[str, ...] = ()


RECIPES = {
    "claude": Recipe(
        "claude -p --output-format json --mcp-config {mcp} --strict-mcp-config --allowedTools mcp__oragent "
        "--disallowedTools Bash,Read,Write,Edit,Glob,Grep,WebFetch,WebSearch,Task",
        ("~/.claude", "~/.claude.json"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ),
    "codex": Recipe(
        f"codex exec --json --skip-git-repo-check --sandbox read-only -c mcp_servers.{SERVER}.url={{url}} "
        f"-c mcp_servers.{SERVER}.bearer_token_env_var={TOKEN_VARIABLE} -",
        ("~/.codex",),
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"),
    ),
}
# Option with the name of the model, where the recipe has one.
MODEL_OPTION = {"claude": "--model {model}", "codex": "--model {model}"}


@dataclass(frozen=True)
class AgentOutput:
    """Output of an agent that has ended."""

    # How it ended, one line.
    ended: str
    stdout: str
    stderr: str


@dataclass(frozen=True)
class ServerAddress:
    """Address of the server for one agent."""

    url: str
    token: str

    def describe(self) -> str:
        """Return the configuration of the server as most clients take it."""
        entry = {"type": "http", "url": self.url, "headers": {"Authorization": f"Bearer {self.token}"}}
        return json.dumps({"mcpServers": {SERVER: entry}})


def find_program(settings: CodingAgentSettings, model: str) -> tuple[list[str], Recipe]:
    """Return the words of the agent's command, with placeholders, and the recipe that completes its settings.

    Raises:
        ConfigError: The path has no such program, or the command cannot be read.
    """
    recipe = RECIPES.get(settings.recipe, Recipe(""))
    text = settings.command or recipe.command
    if not settings.command and model:
        name, _, rest = text.partition(" ")
        if settings.recipe == "claude":
            text = f"{name} {MODEL_OPTION[settings.recipe]} {rest}"
        else:
            text = _insert_model(text)
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise ConfigError(f"strategy.options.command cannot be read: {problem}") from None
    if words:
        program = shutil.which(words[0])
    else:
        program = None
    if program is None:
        raise ConfigError(f"strategy.options: the path has no program {one_line(text, 60)!r}: install the agent")
    if settings.confined and not can_confine():
        raise ConfigError(
            "this machine cannot hide files from an agent (Landlock): strategy.options.confined=false runs it anyway, "
            "and then it can read the held-out instances"
        )
    return [os.path.abspath(program), *words[1:]], recipe


async def run_agent(
    settings: CodingAgentSettings, words: list[str], recipe: Recipe, server: ServerAddress, prompt: str, model: str
) -> AgentOutput:
    """Run an agent to its end, in a new folder of its own; if this is cancelled, the agent is ended."""
    with tempfile.TemporaryDirectory(prefix="oragent-agent-", ignore_cleanup_errors=True) as folder:
        directory = Path(folder).resolve()
        (directory / "tmp").mkdir()
        file = directory / "mcp.json"
        file.write_text(server.describe(), encoding="utf-8")
        file.chmod(0o600)
        values = {"mcp": str(file), "url": server.url, "model": model}
        argv = [_fill(word, values) for word in words]
        writable = _paths((*settings.writable, *recipe.writable))
        readable = [*_paths(settings.readable), *_program_paths(words[0])]
        command = wrap_command(argv, readable, [directory, *writable] if settings.confined else None)
        names = (*VARIABLES, *settings.variables, *recipe.variables)
        environment = {name: os.environ[name] for name in names if name in os.environ}
        environment |= {"TMPDIR": str(directory / "tmp"), TOKEN_VARIABLE: server.token}
        return await _run(command, directory, add_places(environment), prompt, settings.episode_s)


async def _run(
    command: list[str], folder: Path, environment: dict[str, str], prompt: str, limit_s: float
) -> AgentOutput:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    readers = [asyncio.create_task(_read_tail(stream)) for stream in (process.stdout, process.stderr)]
    try:
        async with asyncio.timeout(limit_s):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(prompt.encode())
                await process.stdin.drain()
                process.stdin.close()
            code = await process.wait()
        if code >= 0:
            ended = f"exited with code {code}"
        else:
            ended = f"ended by signal {-code}"
    except TimeoutError:
        ended = f"ended after {limit_s:g} s"
    finally:
        await _end_group(process)
    out, errors = [data.decode("utf-8", "replace") for data in await asyncio.gather(*readers)]
    return AgentOutput(ended, out, errors)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End a process and its children, first by request."""
    for number, wait_s in ((signal.SIGTERM, PATIENCE_S), (signal.SIGKILL, PATIENCE_S)):
        if process.returncode is not None and number is signal.SIGTERM:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), wait_s)


async def _read_tail(stream: asyncio.StreamReader) -> bytes:
    data = b""
    while chunk := await stream.read(1 << 16):
        data = (data + chunk)[-MAX_OUTPUT:]
    return data


def _insert_model(text: str) -> str:
    """Insert the option with the model before the last word, which is the prompt."""
    head, _, last = text.rpartition(" ")
    return f"{head} --model {{model}} {last}"


def _fill(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _paths(names: tuple[str, ...]) -> list[Path]:
    return [Path(name).expanduser().absolute() for name in names]


def _program_paths(program: str) -> list[Path]:
    """Return the folders of a program: where it is installed, as named and behind links."""
    parents = [path.parent for path in (Path(program), Path(program).resolve())]
    folders = [parent.parent if parent.name == "bin" else parent for parent in parents]
    # The folders of a home or of the whole machine would show too much.
    return [folder for folder in folders if folder not in (Path("/"), Path.home())]
