"""A search whose evaluations and questions are written down as they begin, and that ends itself by SIGKILL at one.

python -m tests.search.killing FOLDER LOG NUMBER [OPTION OF THE EVALUATIONS THAT COUNT]
"""

import json
import os
import signal
import sys
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.llm.model import Reply, Request
from oragent.search.folder import RunFolder, reopen
from oragent.search.genetics.variation import breed_child
from oragent.search.prompting import prompt_templates
from oragent.search.strategies.scripted import make_player
from tests.search.players import search
from tests.search.test_races import Racing

FATAL = "the evaluation that the search did not survive"


class Log:
    """What began, a line each: evaluations by program and arguments, questions by their key.

    Args:
        path: File that is appended to.
        deadly: Number of the evaluation, from 1, in which the process ends; 0: none.
        option: Beginning of an option of the evaluations that count; empty: all count.
    """

    def __init__(self, path: Path, deadly: int = 0, option: str = "") -> None:
        self._path, self._deadly, self._option = path, deadly, option
        self._racing, self._player = Racing(), make_player(1, breed_child)
        self._count, self._lock = 0, threading.Lock()

    def evaluate(self, job: Job) -> Evaluation:
        """Evaluate, unless it is the end."""
        with self._lock:
            counts = not self._option or any(word.startswith(self._option) for word in job.arguments)
            self._count += counts
            self.write("evaluation", job.source, *job.arguments, job.mode or "")
            if counts and self._count == self._deadly:
                os.kill(os.getpid(), signal.SIGKILL)
        if is_check(job) and zlib.crc32(job.source.encode()) % 2:
            return Evaluation(Status.REJECTED, message="decision 1 differs", wall_s=0.001)
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # as in the process that is killed
            warnings.simplefilter("ignore")
            return self._racing(job)

    async def ask(self, request: Request) -> Reply:
        """Answer as the scripted model does."""
        self.write("question", request.key)
        return await self._player(request)

    def write(self, *words: str) -> None:
        """Append a line at once."""
        with self._path.open("a") as file:
            file.write(json.dumps(words) + "\n")

    def read(self) -> list[list[str]]:
        """All that began, over all sittings."""
        return [json.loads(line) for line in self._path.read_text().splitlines()]


def is_check(job: Job) -> bool:
    """Return whether calls are repeated."""
    return "--check" in job.arguments


def play(folder: RunFolder, log: Log) -> None:
    """Search to the end, or to the fatal evaluation."""
    search(folder, log.ask, run=log.evaluate, workers=1, offers=frozenset(["--race", "--check"]))


if __name__ == "__main__":
    prompt_templates._python_version = lambda: "3.11"  # as in all tests: replies depend on prompts, which name it
    place, lines, number, *options = sys.argv[1:]
    play(reopen(Path(place)), Log(Path(lines), int(number), *options))
