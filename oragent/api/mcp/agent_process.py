"""The process of a coding agent: its command, its folder, its limits and its output."""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.sandbox.confined_command import ProgramAccess, can_restrict_ports, wrap_command
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent.search.strategies.agent import CodingAgentSettings

TOKEN_VARIABLE = "ORAGENT_MCP_TOKEN"
SERVER = "oragent"
# Number of bytes of each output that are kept, the last ones.
MAX_OUTPUT = 4 << 20
# Ports by scheme of an address.
SCHEMES = {"http": 80, "https": 443}
# Exit codes above are signals.
SIGNALLED = 128
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
# Seconds from a request to end to the end by force, which the supervisor does before this time; and seconds for the
# rest of the output. An episode ends within two seconds of its limit.
PATIENCE_S, DRAIN_S = 1.2, 0.4
# Folders of an installation that a program in its folder "bin" needs, and the file of a virtual environment.
INSTALLED = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")


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
class AgentProgram:
    """Program of an agent."""

    # Absolute path and arguments, with placeholders.
    words: tuple[str, ...]
    # Files and folders that it consists of.
    files: tuple[str, ...]
    # Completes the settings.
    recipe: Recipe


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


def find_program(settings: CodingAgentSettings, model: str, place: str = "strategy.options.") -> AgentProgram:
    """Find the program of the agent's command.

    Args:
        settings: Settings of the agent.
        model: Name of its model; empty for its own choice.
        place: Where the settings are written, as messages name it.

    Raises:
        ConfigError: The path has no such program, or the command cannot be read.
    """
    recipe = RECIPES.get(settings.recipe, Recipe(""))
    text = settings.command or recipe.command
    if not settings.command and model:
        name, _, rest = text.partition(" ")
        text = f"{name} {MODEL_OPTION[settings.recipe]} {rest}" if settings.recipe == "claude" else _insert_model(text)
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise ConfigError(f"{place}command cannot be read: {problem}") from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise ConfigError(f"{place}command: the path has no program {one_line(text, 60)!r}: install the agent")
    if settings.confined and (reason := explain_unconfined()):
        raise ConfigError(
            f"this machine cannot confine an agent ({reason}): {place}confined=false runs it anyway, and then it "
            "can read the held-out instances and change your files"
        )
    if settings.confined and settings.ports is not None and not can_restrict_ports():
        raise ConfigError(
            "this machine cannot restrict the connections of an agent (Landlock 4, Linux 6.7): "
            f"{place}ports=null leaves its network open"
        )
    path = os.path.abspath(program)
    return AgentProgram((path, *words[1:]), list_files(path, is_installed=os.sep not in words[0]), recipe)


async def run_agent(
    settings: CodingAgentSettings, program: AgentProgram, server: ServerAddress, prompt: str, model: str
) -> AgentOutput:
    """Run an agent to its end, in a new folder of its own; if this is cancelled, the agent is ended."""
    with tempfile.TemporaryDirectory(prefix="oragent-agent-", ignore_cleanup_errors=True) as folder:
        file = Path(folder).resolve() / "mcp.json"
        file.write_text(server.describe(), encoding="utf-8")
        file.chmod(0o600)
        values = {"mcp": str(file), "url": server.url, "model": model}
        return await run_in_folder(settings, program, file.parent, prompt, values, {TOKEN_VARIABLE: server.token})


async def run_in_folder(
    settings: CodingAgentSettings,
    program: AgentProgram,
    folder: Path,
    prompt: str,
    values: Mapping[str, str],
    variables: Mapping[str, str],
) -> AgentOutput:
    """Run an agent in a folder without links in its path; ``values`` are those of the placeholders in its command."""
    (folder / "tmp").mkdir()
    argv = [_fill(word, values) for word in program.words]
    writable = _expand_paths((*settings.writable, *program.recipe.writable))
    readable = (*_expand_paths(settings.readable), *program.files)
    names = (*VARIABLES, *settings.variables, *program.recipe.variables)
    environment = {name: os.environ[name] for name in names if name in os.environ}
    environment |= {"TMPDIR": str(folder / "tmp"), **variables}
    ports = settings.ports
    if ports is not None:
        ports = (*ports, *_list_ports((*values.values(), *environment.values())))
    access = ProgramAccess(str(folder), readable, writable, ports) if settings.confined else None
    return await _run(wrap_command(argv, access), folder, environment, prompt, settings.episode_s)


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
    tails = bytearray(), bytearray()
    readers = [
        asyncio.create_task(_read_tail(stream, tail))
        for stream, tail in zip((process.stdout, process.stderr), tails, strict=True)
    ]
    try:
        async with asyncio.timeout(limit_s):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(prompt.encode())
                await process.stdin.drain()
                process.stdin.close()
            code = await process.wait()
        if 0 <= code <= SIGNALLED:
            ended = f"exited with code {code}"
        else:
            ended = f"ended by signal {-code if code < 0 else code - SIGNALLED}"
    except TimeoutError:
        ended = f"ended after {limit_s:g} s"
    finally:
        await _end_group(process)
        # Without namespaces, a process that is left may hold the pipes open.
        await asyncio.wait(readers, timeout=DRAIN_S)
        for reader in readers:
            reader.cancel()
    return AgentOutput(ended, *(tail.decode("utf-8", "replace") for tail in tails))


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End a process and its children, first by request."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PATIENCE_S)


async def _read_tail(stream: asyncio.StreamReader, tail: bytearray) -> None:
    while chunk := await stream.read(1 << 16):
        tail += chunk
        del tail[:-MAX_OUTPUT]


def _insert_model(text: str) -> str:
    """Insert the option with the model before the last word, which is the prompt."""
    head, _, last = text.rpartition(" ")
    return f"{head} --model {{model}} {last}"


def _fill(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _expand_paths(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(Path(name).expanduser().absolute()) for name in names)


def _list_ports(addresses: Iterable[str]) -> Iterator[int]:
    """List the ports of texts that are addresses, such as a proxy."""
    for address in addresses:
        with contextlib.suppress(ValueError):
            parts = urlsplit(address)
            if parts.scheme in SCHEMES and parts.hostname:
                yield parts.port or SCHEMES[parts.scheme]


def list_files(program: str, *, is_installed: bool) -> tuple[str, ...]:
    """List the files that a program consists of.

    Args:
        program: Absolute path of the program.
        is_installed: Whether it was named without a folder. Then the libraries beside its folder ``bin`` are its own.
    """
    files = dict.fromkeys((Path(program), Path(program).resolve()))
    return tuple(str(path) for file in files for path in (file, *_installed_paths(file, is_installed=is_installed)))


def _installed_paths(file: Path, *, is_installed: bool) -> list[Path]:
    prefix = file.parents[1] if len(file.parents) > 1 else file.parent
    if file.parent.name == "bin" and (is_installed or (prefix / "pyvenv.cfg").is_file()):
        return [prefix / name for name in INSTALLED]
    if "node_modules" in file.parts:
        return [Path(*file.parts[: file.parts.index("node_modules") + 1])]
    return []
