"""Kill the commands of all products at random moments, resume them, and see that nothing paid for is lost.

    python tests/benchmarks/soak_kills.py [KILLS OF EACH KIND] [KIND ...]

Kinds: run, compare, formulate, converse, workspace. A server answers each request as a function of its body, after a random
wait, and writes down when it has. Each trial begins the work, kills it (SIGKILL) once to three times, and completes it. Wrong
is a result that differs from the undisturbed one, a request that is sent again though its reply was sent half a second before
a kill, an error or a traceback, and a process that is left. A command is a fork of a process that has imported it all.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.soak_candidates import read_stored  # noqa: E402
from tests.benchmarks.soak_server import Hostile, write_reply  # noqa: E402
from tests.conftest import write_toy  # noqa: E402
from tests.formulate import pharmacy  # noqa: E402
from tests.llm.chat_server import calling  # noqa: E402
from tests.workspace.bakery import DATA, PROGRAM, STORY  # noqa: E402

# Seconds before a kill within which a reply may still be on its way to the database.
ON_ITS_WAY_S = 0.5
SETTLE_S, LIMIT_S = 10.0, 300.0
MAX_WAIT_S = 0.1
PROBE = "Answer with the word OK."
MESSAGES = ("question one", "question two", "/carpentry = 50", "question two", "question three")
STRATEGIES = ("hill_climb", "funsearch", "eoh", "reevo")
EDIT = """<<<<<<< SEARCH
    return problem, rye, wheat
=======
    problem += rye <= p["most_rye"], "rye_sold"
    return problem, rye, wheat
>>>>>>> REPLACE
"""
LINE = STORY.splitlines()[2]
STATES = f"<<<<<<< SEARCH\n{LINE}\n=======\n{LINE}\nAt most `most_rye` loaves of rye are sold.\n>>>>>>> REPLACE\n"
PLAN = {
    "summary": "rye is limited by what can be sold", "objective": "nothing",
    "rows": [{"name": "rye_sold", "change": "add", "why": "limit"}],
    "data": [{"name": "most_rye", "value": "40", "unit": "loaves", "meaning": "that can be sold", "neutral": "1000"}],
}  # fmt: skip
ANSWER = "Row rye_sold binds at 40 loaves [data/general_parameters.csv, row most_rye, column Value = 40]."
STEPS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "builder": [
        ("list_files", {}), ("read_file", {"path": "docs/a.md"}), ("write_file", {"path": "src/bakery.py", "text": PROGRAM}),
        ("run", {"path": "src/bakery.py"}), ("submit", {"path": "src/bakery.py"}),
    ],
    "reviser": [
        ("read_file", {"path": "src/bakery.py"}), ("edit", {"path": "src/bakery.py", "edits": EDIT}),
        ("edit", {"path": "docs/a.md", "edits": STATES}), ("run", {"path": "src/bakery.py"}), ("submit", {"path": "src/bakery.py"}),
    ],
    "explainer": [("search", {"text": "most_rye"}), ("submit", {"answer": ANSWER})],
}  # fmt: skip


def answer(body: dict[str, Any]) -> bytes:
    """Return the reply to a request, which depends on the request alone. The name of the model says what it is for."""
    messages, role = body["messages"], body["model"]
    asked = str(messages[-1]["content"])
    if asked == PROBE:
        return write_reply("OK")
    if role == "search":
        return write_reply(improve(json.dumps(messages)))
    if role == "formulate":
        return write_reply(pharmacy.speaks(messages))
    if role == "converse":
        if messages[-1]["role"] == "tool":
            return write_reply("It was looked up.")
        return calling(("ask", {"lines": ["solve", "binding"]})).body.encode()
    if role == "planner":
        return write_reply(json.dumps(PLAN))
    done = sum(message["role"] == "assistant" for message in messages)
    return calling(STEPS[role][min(done, len(STEPS[role]) - 1)]).body.encode()


def improve(prompt: str) -> str:
    """Return a better program than those of a prompt, so that the next prompt is another one."""
    tried = [float(number) for number in re.findall(r"return x \* ([0-9.]+)", prompt)] or [2.0]
    best = min(tried, key=lambda factor: abs(100 - 3 * factor))
    share = int(hashlib.sha256(prompt.encode()).hexdigest()[:4], 16) / 0xFFFF
    factor = round(best + (100 / 3 - best) * (0.05 + 0.2 * share), 9)
    return f"{{A number.}}\n```python\ndef guess(x):\n    return x * {factor}\n```"


class Paid(Hostile):
    """Answers after a random wait, and writes down the key of each reply that was sent, with the time."""

    log = Path()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = answer(body)
        time.sleep(random.uniform(0, MAX_WAIT_S))
        with suppress(OSError):
            self.send_body(reply)
            self.wfile.flush()
            is_probe = body["messages"][-1]["content"] == PROBE
            key = "probe" if is_probe else hashlib.sha256(json.dumps(body).encode()).hexdigest()
            with self.log.open("a") as lines:
                lines.write(f"{key} {time.monotonic()}\n")


def serve(log: Path) -> None:
    """Serve until the end of the process that started this one."""
    Paid.log = log
    server = ThreadingHTTPServer(("127.0.0.1", 0), Paid)
    print(server.server_port, flush=True)
    server.serve_forever()


@dataclass
class Trial:
    """One piece of work in a folder of its own.

    Attributes:
        place: The folder.
        url: Address of the server.
        number: Decides on the strategy.
    """

    place: Path
    url: str
    number: int = 0
    kills: list[float] = field(default_factory=list)

    def words(self) -> list[str] | None:
        """Return the next command; None if all is done."""
        raise NotImplementedError

    def typed(self) -> str:
        """Return the standard input of the next command."""
        return ""

    def result(self) -> Any:
        """Return all that must not depend on kills."""
        raise NotImplementedError

    def run(self, kill_after_s: float = LIMIT_S) -> tuple[bool, float]:
        """Run the next command; return whether it was killed, and its seconds.

        Raises:
            RuntimeError: It ended otherwise than it should.
        """
        words = self.words()
        assert words is not None
        log = self.place / "log"
        begun = time.monotonic()
        child = fork_command(words, self.place, self.url, self.typed(), log)
        status = None
        while time.monotonic() - begun < kill_after_s and status is None:
            pid, ended = os.waitpid(child, os.WNOHANG)
            status = ended if pid else None
            time.sleep(0.002)
        took_s = time.monotonic() - begun
        if status is None:
            os.kill(child, signal.SIGKILL)
            self.kills.append(time.monotonic())
            os.waitpid(child, 0)
            if kill_after_s == LIMIT_S:
                raise RuntimeError("hangs")
            return True, took_s
        if code := os.waitstatus_to_exitcode(status):
            raise RuntimeError(f"{' '.join(words[:3])}: exit code {code}: {log.read_text()[-1500:]}")
        return False, took_s


@dataclass
class SearchTrial(Trial):
    """A search of the toy problem."""

    def __post_init__(self) -> None:
        if not (self.place / "problems").exists():
            write_toy(self.place)

    def words(self) -> list[str] | None:
        runs = [path.parent for path in (self.place / "outputs/toy").glob("*/config.yaml")]
        if runs and not is_begun(runs[0]):
            shutil.rmtree(runs[0])
            runs = []
        if runs:
            return ["resume", "--trust", str(runs[0])]
        strategy = STRATEGIES[self.number % len(STRATEGIES)]
        return ["run", "toy", "--model", "search", "--strategy", strategy, "--evaluations", "9", "workers=2"]

    def result(self) -> Any:
        (folder,) = (self.place / "outputs/toy").iterdir()
        return drop_probes(read_stored(folder))


@dataclass
class CompareTrial(SearchTrial):
    """A comparison of two strategies."""

    def words(self) -> list[str] | None:
        if list(self.place.glob("compared/*.yaml")):
            return ["compare", "--outputs", "compared"]
        return [
            "compare", "toy", "--strategies", "hill_climb,funsearch", "--model", "search", "--seeds", "1",
            "--evaluations", "6", "--outputs", "compared", "--yes",
        ]  # fmt: skip

    def result(self) -> Any:
        return [
            (str(path.parent.name)[:3], drop_probes(read_stored(path.parent)))
            for path in sorted(self.place.rglob("run.db"))
        ]


@dataclass
class FormulateTrial(Trial):
    """A formulation whose first program is wrong."""

    def __post_init__(self) -> None:
        (self.place / "pharmacy.md").write_text(pharmacy.TEXT)

    def folder(self) -> Path | None:
        return next((path.parent for path in self.place.glob("outputs/formulate/pharmacy/*/formulate.json")), None)

    def words(self) -> list[str] | None:
        folder = self.folder()
        return ["resume", "--trust", str(folder)] if folder else ["formulate", "pharmacy.md", "--model", "formulate"]

    def result(self) -> Any:
        folder = self.folder()
        assert folder is not None
        names = ("milp.json", "plan.csv", "program.py", "checker.py", "checks.json", "milp.lp")
        stored = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
        pool = [(entry["module"], entry.get("text")) for entry in stored]
        return [(folder / name).read_text() for name in names], pool


@dataclass
class ConverseTrial(Trial):
    """A conversation of five messages, one of which is said twice."""

    def folder(self) -> Path | None:
        return next((path.parent for path in self.place.glob("outputs/converse/workshop/*/converse.json")), None)

    def records(self) -> list[Any]:
        from oragent.ledger.study import finished_results

        folder = self.folder()
        finished = finished_results(folder) if folder else {}
        return [finished[name] for name in sorted(finished, key=lambda name: int(name.partition(".")[2]))]

    def words(self) -> list[str] | None:
        folder = self.folder()
        if folder:
            return ["converse", "--trust", str(folder)]
        return ["converse", "workshop", "--agent", "T-P-P", "--model", "converse"]

    def typed(self) -> str:
        folder = self.folder()
        said = max(0, len(self.records()) - 1)
        if folder and is_waiting(folder, len(self.records())):
            said += 1
        return "".join(f"{message}\n" for message in MESSAGES[said:])

    def result(self) -> Any:
        return [drop_times(record) for record in self.records()]


@dataclass
class WorkspaceTrial(Trial):
    """A folder that is built, revised and asked about."""

    def __post_init__(self) -> None:
        for name, text in (("docs/a.md", STORY), ("data/general_parameters.csv", DATA)):
            path = self.place / "bakery" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.place / "request.md").write_text("No more than 40 loaves of rye can be sold.\n")

    def finished(self) -> set[str]:
        from oragent.workspace.folder import finished_verbs

        return {verb.name for verb in finished_verbs(self.place / "bakery")}

    def words(self) -> list[str] | None:
        finished = self.finished()
        models = [f"models.{role}.name={role}" for role in ("builder", "planner", "reviser", "explainer")]
        language = ["--model", "workspace", *models]
        steps = {
            "build-1": ["workspace", "build", "bakery", *language],
            "revise-1": ["workspace", "revise", "bakery", "--request", "request.md", *language],
            "ask-1": ["workspace", "ask", "bakery", "What limits rye?", *language],
        }
        missing = [words for name, words in steps.items() if name not in finished]
        return missing[0] if missing else None

    def result(self) -> Any:
        from oragent.workspace.versions import Versions

        home = self.place / "bakery"
        with Versions(home) as versions:
            authors = [(version.author, version.verb) for version in versions.list_versions()]
        names = ("src/bakery.py", "docs/a.md", "data/general_parameters.csv")
        return [(home / name).read_text() for name in names], authors, sorted(self.finished())


TRIALS = {
    "run": SearchTrial, "compare": CompareTrial, "formulate": FormulateTrial, "converse": ConverseTrial,
    "workspace": WorkspaceTrial,
}  # fmt: skip


def drop_probes(stored: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    """Return what a run has stored without the replies that each sitting asks for to see whether the server answers."""
    del stored["replies"]["OK"]
    return stored


def is_begun(folder: Path) -> bool:
    """Return whether a run has a database that can be resumed."""
    with suppress(Exception):
        read_stored(folder)
        return True
    return False


def is_waiting(folder: Path, records: int) -> bool:
    """Return whether a message of a conversation was said and not answered."""
    pending = folder / "pending.txt"
    return pending.is_file() and pending.read_text().partition("\n")[0] == str(records)


def drop_times(value: Any) -> Any:
    """Return a document without its measured times."""
    if isinstance(value, dict):
        return {key: drop_times(part) for key, part in value.items() if not key.endswith(("seconds", "_s"))}
    return [drop_times(part) for part in value] if isinstance(value, list) else value


def fork_command(words: list[str], place: Path, url: str, typed: str, log: Path) -> int:
    """Start a command in a fork of this process, and return its number."""
    (place / "tmp").mkdir(exist_ok=True)
    (place / "typed").write_text(typed)
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        streams = os.open(place / "typed", os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, stream in enumerate((streams[0], streams[1], streams[1])):
            os.dup2(stream, number)
        os.environ |= {
            "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "TMPDIR": str(place / "tmp"), "COLUMNS": "120",
            "XDG_STATE_HOME": str(place), "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        tempfile.tempdir = None
        os.chdir(place)
        sys.argv = ["oragent", *words]
        from oragent.__main__ import main as run_command

        run_command()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def list_left(place: Path) -> list[str]:
    """Return the processes that work in a folder or name it, after a while at most."""
    until = time.monotonic() + SETTLE_S
    while True:
        left = list(_scan_processes(str(place)))
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.1)


def _scan_processes(word: str) -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if int(entry.name) != os.getpid() and (word in words or os.readlink(entry / "cwd").startswith(word)):
                yield words[:100]


def read_paid(log: Path) -> list[tuple[str, float]]:
    """Return the replies that were sent so far."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(key, float(sent)) for key, _, sent in (line.partition(" ") for line in lines) if key != "probe"]


def try_once(
    kind: str, number: int, url: str, log: Path, rng: random.Random, whole: tuple[Any, Counter[str], float]
) -> tuple[int, list[str]]:
    """Kill and resume once; return the number of kills and what went wrong."""
    expected, asked, seconds = whole
    with tempfile.TemporaryDirectory(prefix="oragent-kills-") as name:
        place = Path(name).resolve()
        place.chmod(0o711)
        log.unlink(missing_ok=True)
        trial = TRIALS[kind](place, url, number)
        wanted, wrong = rng.choice((1, 1, 2, 3)), list[str]()
        try:
            while trial.words():
                is_last = len(trial.kills) >= wanted
                was_killed, _ = trial.run(LIMIT_S if is_last else rng.uniform(0.02, seconds))
                if not was_killed and kind != "workspace":
                    break
            if trial.result() != expected:
                wrong.append(f"another result: {describe_difference(trial.result(), expected)}")
        except Exception as problem:
            wrong.append(repr(problem)[:1500])
        paid = read_paid(log)
        again = Counter(key for key, _ in paid) - asked
        for key in again:
            first = next(sent for other, sent in paid if other == key)
            # A reply may also be sent to a process that has just been killed.
            if all(abs(kill - first) > ON_ITS_WAY_S for kill in trial.kills):
                near = min((kill - first for kill in trial.kills), key=abs, default=0.0)
                wrong.append(f"asked again: {key[:8]}, whose reply was sent {near:.2f} s before the nearest kill")
        if left := list_left(place):
            wrong.append(f"processes left: {left}")
        if "Traceback" in (place / "log").read_text(errors="replace"):
            wrong.append(f"traceback: {(place / 'log').read_text(errors='replace')[-1500:]}")
        return len(trial.kills), wrong


def describe_difference(found: Any, expected: Any) -> str:
    """Return the beginning of the first difference of two results."""
    one, two = json.dumps(found, default=str, sort_keys=True), json.dumps(expected, default=str, sort_keys=True)
    at = next((place for place, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return f"{one[max(0, at - 100) : at + 150]} instead of {two[max(0, at - 100) : at + 150]}"


def run_undisturbed(kind: str, number: int, url: str, log: Path) -> tuple[Any, Counter[str], float]:
    """Return the result, the requests and the seconds of work that nothing disturbs."""
    with tempfile.TemporaryDirectory(prefix="oragent-kills-") as name:
        place = Path(name).resolve()
        place.chmod(0o711)
        log.unlink(missing_ok=True)
        trial, seconds = TRIALS[kind](place, url, number), 0.0
        while trial.words():
            seconds = max(seconds, trial.run()[1])
            if kind != "workspace":
                break
        return trial.result(), Counter(key for key, _ in read_paid(log)), seconds


def main(kills: int, kinds: list[str]) -> int:
    """Print a line for each kind, and what went wrong as it happens."""
    import gc

    import oragent.cli.app
    import oragent.report.live.offline  # noqa: F401

    gc.freeze()
    rng, bad = random.Random(time.time_ns()), 0
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "paid"
        server = subprocess.Popen([sys.executable, __file__, "--serve", str(log)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
            for kind in kinds:
                count = len(STRATEGIES) if kind == "run" else 1
                whole = [run_undisturbed(kind, number, url, log) for number in range(count)]
                print(
                    f"{kind}, undisturbed: {', '.join(f'{seconds:.1f} s, {asked.total()} requests' for _, asked, seconds in whole)}",
                    flush=True,
                )
                done = trials = failed = 0
                while done < kills:
                    killed, wrong = try_once(kind, trials % count, url, log, rng, whole[trials % count])
                    done, trials, failed = done + killed, trials + 1, failed + bool(wrong)
                    for words in wrong:
                        print(f"  {kind}, trial {trials}: {words}", flush=True)
                bad += failed
                print(f"{kind}: {done} kills in {trials} trials, {failed} not held", flush=True)
        finally:
            server.kill()
            server.wait()
    return int(bad > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
    else:
        sys.exit(main(int((sys.argv[1:] or ["60"])[0]), sys.argv[2:] or list(TRIALS)))
