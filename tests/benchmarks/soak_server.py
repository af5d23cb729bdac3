"""Search with a hostile model server while the engine is killed again and again, and see that nothing is lost or left.

    python tests/benchmarks/soak_server.py [MINUTES] [KILLS]

Prints the largest memory of the engine, rows of the database after each kill, processes and temporary files left.
"""

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.conftest import DESCRIPTION, EVALUATOR  # noqa: E402
from tests.processes import bearing  # noqa: E402

TABLES = ("replies", "evaluations", "candidates", "rounds")
SENT: Counter[str] = Counter()
RNG = random.Random(0)
REDIRECTS = 0.05  # share of bad answers that may be one


def write_reply(text: str, usage: object = None, calls: object = None) -> bytes:
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "model": "m"}
    return json.dumps(body | {"usage": usage or {"prompt_tokens": 10, "completion_tokens": 5}}).encode()


def write_program() -> str:
    return f"{{A number.}}\n```python\ndef guess(x):\n    return x * {RNG.randrange(10**9)}\n```"


class Hostile(BaseHTTPRequestHandler):
    """Answers honestly half of the time, so that the search goes on."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        honest = RNG.random() < 0.5
        kinds = [name for name in dir(self) if name.startswith("send_bad_")]
        if RNG.random() > REDIRECTS:  # a redirect ends a run: the address is wrong
            kinds.remove("send_bad_redirect")
        kind = "honest" if honest else RNG.choice(kinds)
        SENT[kind.removeprefix("send_bad_")] += 1
        with suppress(OSError):
            self.send_body(write_reply(write_program())) if honest else getattr(self, kind)()

    do_GET = do_POST

    def send_body(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_bad_bomb(self) -> None:
        self.send_body(gzip.compress(bytes(100 << 20)), Content_Encoding="gzip")

    def send_bad_redirect(self) -> None:
        self.send_body(b"", 307, Location="http://127.0.0.1:1/steal")

    def send_bad_codec(self) -> None:
        self.send_body(write_reply("x"), Content_Type="application/json; charset=zlib_codec")

    def send_bad_usage(self) -> None:
        self.send_body(write_reply(write_program(), {"prompt_tokens": -(10**30), "completion_tokens": "many"}))

    def send_bad_json(self) -> None:
        self.send_body(b"[" * 100_000)

    def send_bad_number(self) -> None:
        self.send_body(b'{"choices": ' + b"9" * 100_000 + b"}")

    def send_bad_calls(self) -> None:
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        self.send_body(write_reply("x", calls=[call] * 8_000))

    def send_bad_program(self) -> None:
        self.send_body(write_reply("```python\ndef guess(x):\n    return " + "-" * 90_000 + "x\n```"))

    def send_bad_half(self) -> None:
        self.send_body(write_reply("x")[:20], Content_Length="99999")
        self.connection.close()

    def send_bad_stream(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(2000):
            self.wfile.write(b" " * (1 << 16))

    def send_bad_slowness(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(20):
            self.wfile.write(b" ")
            time.sleep(0.5)

    def log_message(self, *args: object) -> None:
        pass


def count_rows(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / "run.db")) as database:
        return {name: database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in TABLES}


def run_until(
    command: list[str], environment: dict[str, str], is_over: Callable[[], bool], log: Path
) -> tuple[int, float]:
    """Run the engine and kill it; return its exit status, and its largest resident memory in MB."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
        peak = 0.0
        while process.poll() is None and not is_over():
            with suppress(OSError, IndexError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
            time.sleep(0.1)
        process.kill()
        return process.wait(), peak


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        toy, temporary, log = root / "problems" / "toy", root / "tmp", root / "log"
        toy.mkdir(parents=True)
        temporary.mkdir(mode=0o711)
        for file, text in (("problem.yaml", DESCRIPTION), ("eval.py", EVALUATOR)):
            (toy / file).write_text(text)
        (toy / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
        environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": name}
        oragent = [sys.executable, "-m", "oragent"]
        options = [f"model.base_url=http://127.0.0.1:{server.server_port}/v1", "budget.evaluations=100000"]
        options += ["model.timeout_s=5", "workers=2"]
        begin = [*oragent, "run", "toy", "--root", name, "--model", "m", "--strategy", "random", *options]
        before, lost, peaks, tracebacks = dict.fromkeys(TABLES, 0), 0, [], 0
        killed = 0
        while killed < kills:
            folders = list((root / "outputs" / "toy").glob("*"))
            command = [*oragent, "resume", "--trust", str(folders[0])] if folders else begin
            until = time.monotonic() + RNG.uniform(0.5, 1.5) * 60 * minutes / kills
            code, peak = run_until(command, environment, lambda until=until: time.monotonic() >= until, log)
            peaks.append(peak)
            killed += code == -signal.SIGKILL
            folders = list((root / "outputs" / "toy").glob("*"))
            rows = count_rows(folders[0]) if folders else before
            lost += any(rows[table] < before[table] for table in TABLES)
            before = rows
            print(f"kill {killed:2d}: exit {code}, {peak:.0f} MB, {rows}", flush=True)
        tracebacks = log.read_text(errors="replace").count("Traceback")
        time.sleep(2)
        left = len(bearing(name))
        print(f"sent: {dict(SENT)}")
        print(
            f"lost {lost}, tracebacks {tracebacks}, memory {min(peaks):.0f} to {max(peaks):.0f} MB, processes left {left}"
        )
        print(f"temporary files left by kills: {len(list(temporary.iterdir()))}")
        if tracebacks or left:
            print(log.read_text(errors="replace")[-3000:])
        return int(lost > 0 or tracebacks > 0 or left > 0)


if __name__ == "__main__":
    sys.exit(main())
