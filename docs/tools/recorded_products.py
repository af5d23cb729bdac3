"""Run formulate, converse, workspace and their benchmarks in two checkouts, and compare what they print and write.

::

    python docs/tools/recorded_products.py OLD NEW                  # two checkouts, each with its own .venv
    python docs/tools/recorded_products.py OLD NEW --keep DIR       # keeps the folders of both
    python docs/tools/recorded_products.py OLD NEW --data DIR       # published sets as well

Every command is one of the command line. Models are the stand-ins ``rules``, ``scripted``, ``oracle``, ``planted`` and
``copy``, or a server in this process that replies by fixed rules. Compared are exit codes, printed lines, files and the
rows of every database. Masked is what differs between two runs of the same code: times, dates, paths, ports, memory,
versions and hashes of code. ``recorded_intended.py`` lists by reason what may differ; everything else counts as a
difference. The exit code is 1 if there is one.
"""

import argparse
import difflib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from recorded_inputs import BAKERY, PHARMACY, POOL, SENTENCES, WORKSHOP, reply
from recorded_intended import INTENDED, MASKS

Facts = dict[str, list[str]]


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes:
        name: Key of its facts.
        words: Arguments of ``oragent``.
        stdin: What a person types.
    """

    name: str
    words: tuple[str, ...]
    stdin: str = ""


def steps(data: Path | None) -> list[list[Step]]:
    """Return the commands, in lists that can run side by side; the commands of a list run one after the other."""

    def step(name: str, words: str, stdin: str = "") -> Step:
        return Step(name, tuple(words.split()), stdin)

    bench = "bench converse --workers 1 --utilities 3"
    chains = [
        [
            step("formulate", "formulate pharmacy.md --model fixed --outputs formulate"),
            step("formulate-cot", "formulate pharmacy.md --model fixed --method cot --outputs formulate-cot"),
            step("formulate-paper", "formulate pharmacy.md --model fixed --preset paper --outputs formulate-paper"),
            step("solve", "solve workshop.lp"),
        ],
        [step("bench-formulate-oracle", "bench formulate --set families --model oracle --limit 4 --outputs bf1")],
        [
            step(
                "bench-formulate-scripted",
                "bench formulate --set families --model scripted --methods ormind,standard --limit 3 --outputs bf2",
            ),
            step("bench-formulate-again", "bench formulate --outputs bf2"),
        ],
        [
            step("bench-formulate-planted", "bench formulate --set families --model planted --limit 3 --outputs bf3"),
        ],
        [
            step("converse-schools", "converse sfusd --agent rules --outputs schools", SENTENCES),
            step("converse-model", "converse workshop.lp --agent rules --outputs workshop", WORKSHOP),
            step("converse-tools", "converse sfusd --agent T-P-P --model fixed --outputs tools", "the best one\nquit\n"),
            step("utilities", "converse utilities --seed 3 --functions 5 --out utilities.json"),
        ],
        [step("bench-converse-rational", f"{bench} --agents rules --decider rational --outputs bc1")],
        [
            step(
                "bench-converse-scripted",
                f"{bench} --agents T-P-P,C-P-P,C-P-R,C-N-R --model scripted --styles vague --outputs bc2",
            ),
        ],
        [
            step(
                "bench-converse-paradigms",
                f"{bench} --agents T-P-P --model scripted --feedback rich --paradigms default,one-shot,aware --outputs bc3",
            ),
            step("bench-converse-replay", "bench converse --replay bc3 --outputs bc4"),
        ],
        [
            step("workspace-new", "workspace new empty"),
            step("workspace-check", "workspace check bakery"),
            step("workspace-build", "workspace build bakery --model fixed"),
            step("workspace-revise", "workspace revise bakery --request request.md --model fixed"),
            step("workspace-run", "workspace run bakery"),
            step("workspace-records", "workspace ask bakery prices"),
            step("workspace-history", "workspace history bakery"),
            step("workspace-report", "workspace report bakery"),
            step("workspace-undo", "workspace undo bakery"),
        ],
        [
            step("bench-workspace-agents", "bench workspace --set made --models oracle,copy,planted,records --limit 3 "
                 "--modes build,revise,explain --workers 1 --outputs bw1"),
        ],
    ]  # fmt: skip
    if data is not None:
        nl4opt = data / "formulation/nl4opt/nl4opt_verified.json"
        chains += [
            [step("published-nl4opt", f"bench formulate --set nl4opt={nl4opt} --model oracle --outputs pf1")],
            [step("published-161", "bench converse --agents rules --decider rational --outputs pc1")],
            [
                step(
                    "published-orspace", f"bench workspace --set {data / 'orspace'} --predictions records --outputs po1"
                )
            ],
        ]
    return chains


def record(checkout: Path, folder: Path, workspaces: Path, data: Path | None) -> Facts:
    """Run all commands with the code of a checkout, in a folder, and return what they printed and wrote."""
    folder.mkdir(parents=True)
    put_inputs(folder, workspaces)
    facts: Facts = {}
    with serve() as url:
        environment = os.environ | {
            "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb",
        }  # fmt: skip

        def run_chain(chain: Sequence[Step]) -> None:
            for step in chain:
                words = step.words
                print(checkout.name, "oragent", *words, file=sys.stderr)
                result = subprocess.run(
                    [checkout / ".venv/bin/python", "-m", "oragent", *words],
                    cwd=folder, env=environment, input=step.stdin, capture_output=True, text=True, check=False,
                )  # fmt: skip
                text = f"exit code {result.returncode}\n{result.stdout}\n--- stderr\n{result.stderr}"
                facts[f"{step.name}/printed"] = mask(text, folder, checkout).splitlines()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run_chain, steps(data)))
    facts |= read_files(folder, checkout)
    return facts


def put_inputs(folder: Path, workspaces: Path) -> None:
    """Write the models, texts and workspaces that the commands read."""
    (folder / "pharmacy.md").write_text(PHARMACY)
    (folder / "workshop.lp").write_text(POOL)
    for name, text in BAKERY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "made").symlink_to(workspaces)


@contextmanager
def serve() -> Iterator[str]:
    """Serve fixed replies as chat completions; yields the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = reply(request["messages"], [tool["function"]["name"] for tool in request.get("tools") or ()])
            body = json.dumps({
                "id": "reply", "object": "chat.completion", "created": 0, "model": request["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def read_files(folder: Path, checkout: Path) -> Facts:
    """Return the masked lines of every file below a folder, and the rows of every database."""
    facts: Facts = {}
    for path in sorted(folder.rglob("*")):
        name = mask(str(path.relative_to(folder)), folder, checkout)
        if path.is_symlink() or not path.is_file() or path.name.endswith(("-wal", "-shm", ".lock", ".png")):
            continue
        if path.read_bytes()[:6] == b"SQLite":
            facts |= {f"file {name} table {table}": rows for table, rows in read_tables(path, folder, checkout)}
        else:
            text = path.read_bytes().decode("utf-8", errors="replace")
            facts[f"file {name}"] = mask(text, folder, checkout).splitlines()
    return facts


def read_tables(path: Path, folder: Path, checkout: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the sorted, masked rows of every table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in sorted(tables):
            cursor = database.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in cursor.description]
            rows = [
                json.dumps({name: plain(name, value) for name, value in zip(columns, row, strict=True)}, sort_keys=True)
                for row in cursor
            ]
            yield table, sorted(mask(row, folder, checkout) for row in rows)


def plain(name: str, value: Any) -> Any:
    """Return a column's value with times masked and blobs as their text."""
    if name in {"seconds", "wall_s", "cpu_s", "elapsed_s", "queued_s", "at", "peak_mb"}:
        return "TIME"
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value


def mask(text: str, folder: Path, checkout: Path) -> str:
    """Return a text without paths, times, ports, versions and hashes."""
    for path, word in ((folder, "FOLDER"), (checkout, "CHECKOUT")):
        text = text.replace(str(path.resolve()), word)
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text)
    return text


def compare(old: Facts, new: Facts) -> tuple[Counter[str], list[str]]:
    """Return how many pieces differ by each intended reason, and every other difference as text."""
    reasons: Counter[str] = Counter()
    unexplained: list[str] = []
    for key in sorted({*old, *new}):
        rules = [rule for rule in INTENDED if re.search(rule.where, key)]
        for before, after in differences(old.get(key, ["(no such file)"]), new.get(key, ["(no such file)"])):
            reason = next((rule.reason for rule in rules if rule.explains(before, after)), None)
            if reason is None:
                unexplained.append(f"{key}\n  - {before[:300]!r}\n  + {after[:300]!r}")
            else:
                reasons[reason] += 1
    return reasons, unexplained


def differences(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the pieces in which two outputs differ; a piece ends at a comma, a line's end or one quoted in JSON."""
    if old == new:
        return
    before, after = (re.split(r"(\\\\+n|, |\n)", "\n".join(lines)) for lines in (old, new))
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield "".join(before[i1:i2]), "".join(after[j1:j2])


def main() -> None:
    """Run both checkouts and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for what both write")
    parser.add_argument("--data", type=Path, help="folder of the published sets")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        keep = (options.keep or Path(scratch)).resolve()

        (workspaces, *_) = sorted((options.old.resolve() / "tests/workspace").glob("made*/"))  # for both

        def read_or_record(name: str) -> Facts:
            kept, checkout = keep / f"{name}.json", getattr(options, name).resolve()
            if not kept.exists():
                recorded = record(checkout, keep / name, workspaces, options.data)
                kept.write_text(json.dumps(recorded, indent=1))
            facts: Facts = json.loads(kept.read_text())
            return facts

        with ThreadPoolExecutor(2) as pool:
            facts = list(pool.map(read_or_record, ("old", "new")))
    reasons, unexplained = compare(*facts)
    for text in unexplained:
        print(text)
    for reason, count in sorted(reasons.items()):
        print(f"intended, {count} times: {reason}")
    lines = sum(len(values) for values in facts[0].values())
    print(f"{len(facts[0])} outputs, {lines} lines; {len(unexplained)} unexplained differences")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
