"""What a run keeps after ``kill -9``, in oragent and others: ``python -m tests.peers.resume NAME=PYTHON[:PATH]...``.

Not a test: each framework has an interpreter of its own. A stand-in of a model replies with a new program each time.
The run is killed when it asks for the program after ``BEFORE``, and continued as the framework's documentation says.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.peers.compare import adopt_orphans, end_children, limit_address_space
from tests.peers.programs import HEAD, RULE

HERE = Path(__file__).parent
# Programs that the model replies with before the run is killed, and after.
BEFORE, AFTER = 8, 4
# Seconds of each part.
LIMIT_S = 400


class ReplyServer(http.server.ThreadingHTTPServer):
    """Reply to each request with a new program, as an OpenAI-compatible server, until ``limit`` programs are given."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReplyHandler)
        self.limit, self.count = BEFORE, 0
        self.lock, self.is_exhausted = threading.Lock(), threading.Event()

    def take_number(self) -> int | None:
        """Return the number of the next program, from 1, or None after the last."""
        with self.lock:
            if self.count == self.limit:
                self.is_exhausted.set()
                return None
            self.count += 1
            return self.count


class ReplyHandler(http.server.BaseHTTPRequestHandler):
    """A request to ``ReplyServer``."""

    server: ReplyServer

    def do_POST(self) -> None:
        """Reply with a program; a request after the last one gets no reply."""
        self.rfile.read(int(self.headers["Content-Length"]))
        number = self.server.take_number()
        if number is None:
            threading.Event().wait(LIMIT_S)
            return
        message = {"role": "assistant", "content": write_reply(number)}
        payload = {
            "id": str(number),
            "object": "chat.completion",
            "created": 0,
            "model": "stand-in",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(payload).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Write no log."""


def write_reply(number: int) -> str:
    """Return a reply in a form that all frameworks read, with a program that contains its number."""
    program = HEAD + f"    number = {number}\n" + RULE.format(away=number / 20, home=0.05)
    return f"<NAME>rule_{number}</NAME>\n{{Rule {number} of distances}}\n<CODE>\n```python\n{program}```\n</CODE>"


def play_part(command: list[str], environment: dict[str, str], log: Path, server: ReplyServer) -> None:
    """Run until the model has no further program, and kill the process with all that it started."""
    server.is_exhausted.clear()
    begun = time.monotonic()
    with log.open("a") as file:
        process = subprocess.Popen(
            command, env=environment, stdout=file, stderr=file, cwd=log.parent, start_new_session=True,
            preexec_fn=limit_address_space,
        )  # fmt: skip
        while process.poll() is None and not server.is_exhausted.is_set() and time.monotonic() - begun < LIMIT_S:
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    end_children()


def play(name: str, python: str, path: str) -> dict[str, object]:
    """Kill a run of a framework, continue it, and count what it kept and what it evaluated again."""
    folder = Path(tempfile.mkdtemp())
    server = ReplyServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    places = os.pathsep.join(filter(None, [path, str(HERE.parents[1]) if name == "oragent" else ""]))
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "none",
        "PYTHONPATH": places,
        "PEERS_EVALUATED": str(folder / "evaluated"),
    }
    (folder / "evaluated").touch()
    command = [python, str(HERE / "resume_play.py"), name.partition("-")[0], url, str(folder / "run")]
    play_part([*command, "begin", *name.split("-")[1:]], environment, folder / "log.txt", server)
    before = read_numbers(folder / "evaluated")
    server.limit = server.count + AFTER
    play_part([*command, "resume", *name.split("-")[1:]], environment, folder / "log.txt", server)
    server.shutdown()
    after = read_numbers(folder / "evaluated")[len(before) :]
    kept = set(json.loads((folder / "run" / "kept.json").read_text()))
    return {
        "framework": name,
        "programs scored before kill -9": len(set(before)),
        "known after resume": len(kept & set(before)),
        "scored again": len(set(before) & set(after)),
        "new programs scored after resume": len(set(after) - set(before)),
        "log": str(folder / "log.txt"),
    }


def read_numbers(path: Path) -> list[int]:
    """Return the numbers of the programs that were evaluated, in their order."""
    return [int(word) for word in path.read_text().split()]


if __name__ == "__main__":
    adopt_orphans()
    for word in sys.argv[1:]:
        framework, _, rest = word.partition("=")
        interpreter, _, extra = rest.partition(":")
        print(json.dumps(play(framework, interpreter, extra)), flush=True)
