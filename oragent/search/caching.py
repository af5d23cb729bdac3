"""Cache of evaluations between runs: a program is not scored again under the same conditions.

A hit counts as an evaluation, so the cache does not change the result of a run. The stored times are those of the first
evaluation.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

import oragent
from oragent._base.errors import StoreError
from oragent._base.files import network_file_system
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.job import NOISE_FILE
from oragent.evaluation.problem import Problem
from oragent.ledger.database import Database
from oragent.search.store import restore_evaluation

SCHEMA = "CREATE TABLE IF NOT EXISTS evaluations (key TEXT PRIMARY KEY, evaluation TEXT NOT NULL);"
KIND = "cache"
# Other failures may be due to a busy or full machine, so they are not stored.
LASTING = (Status.OK, Status.INVALID, Status.ERROR, Status.SCREENED)
# Folders of the root whose files are part of the conditions. Files are compared by size and time.
DATA = ("checkpoints", "data")
# Parts of this package that evaluators import.
PARTS = ("_base", "programs", "sandbox", "harness", "domains", "solvers")
# Largest size of a stored evaluation.
MAX_BYTES = 1_000_000


class Cache:
    """Database of evaluations by program and conditions. It stays empty if it cannot be used."""

    def __init__(self, path: Path, problem: Problem, root: Path) -> None:
        self._conditions = hash_conditions(problem, root)
        self._db: Database | None = None
        if network_file_system(path):
            # The database cannot be created in this folder.
            return
        with suppress(StoreError, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = Database(path, SCHEMA, KIND, noun="cache")

    def find(self, fingerprint: str, job: Job) -> Evaluation | None:
        """Return the evaluation of an equal program by an equal job, or None."""
        if self._db is None:
            return None
        with suppress(StoreError, ValueError, TypeError, KeyError):
            row = self._db.query_row(
                "SELECT evaluation FROM evaluations WHERE key = ?", self._cache_key(fingerprint, job)
            )
            if row is None:
                return None
            return restore_evaluation(json.loads(row["evaluation"]))
        return None

    def keep(self, fingerprint: str, job: Job, evaluation: Evaluation) -> None:
        """Store an evaluation, if it is reproducible."""
        if self._db is None or evaluation.status not in LASTING:
            return
        text = json.dumps(vars(evaluation) | {"status": str(evaluation.status)}, default=repr)
        if len(text) <= MAX_BYTES:
            with suppress(StoreError):
                values = {"key": self._cache_key(fingerprint, job), "evaluation": text}
                self._db.write_row("INSERT OR IGNORE INTO", "evaluations", values)

    def close(self) -> None:
        """Close the database."""
        if self._db is not None:
            self._db.close()

    def _cache_key(self, fingerprint: str, job: Job) -> str:
        environment = sorted(job.environment.items())
        # The limit on sleep depends on the measured time of the seed, and does not change a stored result.
        limits = {name: value for name, value in vars(job.limits).items() if name != "idle_s"}
        how = (self._conditions, fingerprint, limits, job.mode, job.problem_size, job.arguments, environment)
        return hashlib.sha256(repr(how).encode()).hexdigest()


def hash_conditions(problem: Problem, root: Path) -> str:
    """Return a hash of the files, packages and machine that an evaluation depends on."""
    digest = hashlib.sha256(repr((sys.version, np.__version__, oragent.__version__)).encode())
    for file in _source_files(problem):
        digest.update(file.name.encode() + b"\\0" + file.read_bytes() + b"\\0")
    for folder in DATA:
        for file in sorted((root / folder).rglob("*")) if (root / folder).is_dir() else ():
            if file.is_file():
                state = file.stat()
                digest.update(repr((str(file.relative_to(root)), state.st_size, state.st_mtime_ns)).encode())
    return digest.hexdigest()


def _source_files(problem: Problem) -> Iterator[Path]:
    """List the problem's files, and the modules of this package that evaluators import."""
    files = (file for file in sorted(problem.folder.rglob("*")) if file.is_file() and file.name != NOISE_FILE)
    yield from (file for file in files if "__pycache__" not in file.parts)
    package = Path(oragent.__file__).parent
    for part in PARTS:
        yield from sorted((package / part).rglob("*.py"))
