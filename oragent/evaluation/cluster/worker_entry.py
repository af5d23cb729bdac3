"""Requests to workers and their answers: JSON of one form, checked field by field, on lines of bounded length.

The only function that is called on a worker is ``handle_request``: texts in, a text out.
"""

import atexit
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from oragent._base.errors import OragentError
from oragent._base.protocol import MAX_FEATURES, Status, storable_metrics, storable_text
from oragent._base.text_format import escape_text
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.capabilities import list_unmet
from oragent.evaluation.cluster.content import ROOT, Content, ContentStore
from oragent.evaluation.cluster.handshake import handshake_to_json, make_handshake
from oragent.evaluation.problem import load_problem
from oragent.sandbox.limits import count_processors
from oragent.sandbox.messages import EndReason, Limits

# Maximum length of an answer. The output of an evaluator is limited to 1 MiB, and JSON escapes lengthen it.
MAX_CHARACTERS = 16 << 20
# Fields of a job that each machine has itself.
LOCAL = ("evaluator", "root_dir")
TEXTS = ("message", "traceback", "log", "output")
TIMES = ("queued_s", "wall_s", "cpu_s", "peak_mb")
OF_EVALUATORS = frozenset(Status) - {Status.SCREENED}
ENDS = frozenset(map(str, EndReason)) | {""}


# Maximum size of a line in bytes: an answer inside another JSON text.
MAX_LINE_BYTES = 2 * MAX_CHARACTERS
# Free disk space below which a failure may be caused by the disk.
FULL_MB = 16
_LOCK = threading.Lock()


class MalformedAnswer(OragentError):
    """The answer of a worker is malformed: the worker may be another program."""


class WorkerTrouble(OragentError):
    """A worker could not evaluate because of a problem of its machine."""


def make_request(job: Job, content: Content) -> str:
    """Return a job as the request to a worker, which has its own paths."""
    plain = {name: value for name, value in vars(job).items() if name not in LOCAL} | {"limits": vars(job.limits)}
    return json.dumps({"do": "evaluate", "content": content.digest, "job": plain})


def read_job(plain: Mapping[str, Any], folder: Path, evaluator: str) -> Job:
    """Parse a job on a worker that has its content in a folder."""
    root = folder / ROOT if (folder / ROOT).is_dir() else folder
    words = {name: tuple(plain[name]) for name in ("arguments", "names")}
    own = {"evaluator": folder / evaluator, "root_dir": root, "limits": Limits(**plain["limits"])}
    return Job(**{**plain, **words, **own})


def content_missing(digest: str) -> str:
    """Return the answer of a worker that does not have the content."""
    return json.dumps({"needs": digest})


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON data."""
    return vars(evaluation) | {"status": str(evaluation.status), "end": str(evaluation.end)}


def read_answer(text: object) -> Evaluation:
    """Parse the answer of a worker to a job.

    Raises:
        WorkerTrouble: The worker reports that it could not evaluate.
        MalformedAnswer: It is not an answer of our workers.
    """
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise MalformedAnswer(f"an answer that is {'too long' if isinstance(text, str) else 'not a text'}")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedAnswer("an answer that is not JSON") from None
    if isinstance(plain, dict) and isinstance(plain.get("trouble"), str):
        raise WorkerTrouble(plain["trouble"][:500])
    if not isinstance(plain, dict) or set(plain) != {"evaluation"}:
        raise MalformedAnswer("an answer of another form")
    return read_evaluation(plain["evaluation"])


def read_evaluation(plain: object) -> Evaluation:
    """Parse an evaluation field by field; raise a MalformedAnswer if a field is missing or invalid."""
    names = {field.name for field in fields(Evaluation)}
    if not isinstance(plain, dict) or set(plain) != names:
        raise MalformedAnswer("an evaluation with other fields")
    if not all(isinstance(plain[name], str) for name in ("status", "end", *TEXTS)):
        raise MalformedAnswer("an evaluation with a text field that is not a text")
    if plain["status"] not in OF_EVALUATORS or plain["end"] not in ENDS or not isinstance(plain["metrics"], dict):
        raise MalformedAnswer("an evaluation with an unknown status or end, or no metrics")
    status = Status(plain["status"])
    if (status is Status.OK) != (plain["score"] is not None):
        raise MalformedAnswer("an evaluation whose score does not match its status")
    features = plain["features"]
    if features is not None and not (
        isinstance(features, list) and len(features) <= MAX_FEATURES and all(map(_is_number, features))
    ):
        raise MalformedAnswer("an evaluation whose features are not numbers")
    numbers = [plain[name] for name in TIMES]
    if plain["score"] is not None:
        numbers += [abs(plain["score"]) if _is_number(plain["score"]) else None]
    if not all(_is_number(value) and value >= 0 for value in numbers):
        raise MalformedAnswer("an evaluation whose figures are not numbers")
    try:
        metrics = storable_metrics(plain["metrics"])
    except ValueError as problem:
        raise MalformedAnswer(f"an evaluation whose {problem}") from None
    texts = {name: storable_text(plain[name]) for name in TEXTS}
    checked_fields: dict[str, Any] = texts | {name: float(plain[name]) for name in TIMES}
    return Evaluation(
        status=status,
        score=None if plain["score"] is None else float(plain["score"]),
        features=None if features is None else tuple(features),
        metrics=metrics,
        end=plain["end"],
        **checked_fields,
    )


def _is_number(value: object) -> bool:
    """Return True if a value is a finite number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def pack_line(message: dict[str, Any]) -> bytes:
    """Encode a message as a line."""
    return json.dumps(message).encode() + b"\n"


def unpack_line(received: bytes) -> dict[str, Any] | None:
    """Decode a line; None if the other side is gone or the line is invalid."""
    if not received.endswith(b"\n") or len(received) > MAX_LINE_BYTES:
        return None
    try:
        message = json.loads(received)
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict):
        return message
    return None


class LineConnection:
    """The engine's end of a socket; any thread may send, one thread reads."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._lock = connection, threading.Lock()
        self._lines: BinaryIO = connection.makefile("rb")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        with self._lock:
            self._connection.sendall(pack_line(message))

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; None at the end or after an invalid message."""
        try:
            return unpack_line(self._lines.readline(MAX_LINE_BYTES))
        except OSError:
            return None

    def end(self) -> None:
        """Shut the connection down for both sides; the reading thread closes it."""
        # The other side may have closed it first.
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; called by the reading thread."""
        self.end()
        self._lines.close()
        self._connection.close()


def handle_request(request: str, *parts: bytes) -> str:
    """Handle a request of an engine.

    Returns:
        JSON with the answer; ``trouble`` if this machine is the cause of a failure.
    """
    try:
        fields = json.loads(request)
        return json.dumps(_handle(fields, *parts), default=repr)
    except (OragentError, OSError) as problem:
        return json.dumps({"trouble": escape_text(f"{problem}")[:500]})
    except (KeyError, TypeError, ValueError) as problem:
        return json.dumps({"trouble": f"a request of another version: {type(problem).__name__}"})


def _handle(fields: Mapping[str, Any], *parts: bytes) -> dict[str, Any]:
    match fields["do"]:
        case "handshake":
            return {"handshake": handshake_to_json(make_handshake())}
        case "lacks":
            return _begin_content(fields)
        case "put":
            return _write_part(fields, *parts)
        case "finish":
            return _finish_content(fields)
        case "evaluate":
            return _evaluate_job(fields, *parts)
        case unknown:
            raise KeyError(unknown)


def _begin_content(fields: Mapping[str, Any]) -> dict[str, Any]:
    with _LOCK:
        return {"lacks": _content_store().begin_draft(fields["manifest"])}


def _write_part(fields: Mapping[str, Any], part: bytes) -> dict[str, Any]:
    with _LOCK:
        _content_store().write_part(fields["content"], fields["number"], fields["offset"], part)
    return {}


def _finish_content(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the content, and list what its problem is missing on this machine, and the versions of its packages."""
    content = Content.from_manifest(fields["manifest"])
    with _LOCK:
        folder = _content_store().find_folder(content.digest) or _content_store().finish_draft(content.digest)
    problem = load_problem((folder / content.evaluator).parent)
    unmet = list_unmet(replace(problem, about=replace(problem.about, environment={})))
    return {"unmet": unmet, "packages": problem.packages}


def _evaluate_job(fields: Mapping[str, Any], *parts: bytes) -> dict[str, Any]:
    digest = fields["content"]
    if parts:
        _store_content(fields["manifest"], parts)
    folder = _content_store().find_folder(digest)
    if folder is None:
        return {"needs": digest}
    evaluation = _process_runner()(read_job(fields["job"], folder, _content_store().evaluator_name(digest)))
    if evaluation.end == EndReason.LOST:
        return {"trouble": "the process that supervises an evaluation was killed"}
    if evaluation.status is not Status.OK and (room := _room_mb()) < FULL_MB:
        return {"trouble": f"an evaluation failed, maybe because only {room:.0f} MiB are left for temporary files"}
    return {"evaluation": evaluation_to_json(evaluation)}


def _store_content(manifest: str, parts: tuple[bytes, ...]) -> None:
    digest = Content.from_manifest(manifest).digest
    with _LOCK:
        for number in _content_store().begin_draft(manifest):
            _content_store().write_part(digest, number, 0, parts[number])
        if _content_store().find_folder(digest) is None:
            _content_store().finish_draft(digest)


def _room_mb() -> float:
    return shutil.disk_usage(tempfile.gettempdir()).free / (1 << 20)


@cache
def _content_store() -> ContentStore:
    return ContentStore()


# Runners by process: a forked process needs its own servers.
_runners: dict[int, Callable[[Job], Evaluation]] = {}


def _process_runner() -> Callable[[Job], Evaluation]:
    """Return the runner of this process, whose servers live as long as the process."""
    with _LOCK:
        if os.getpid() not in _runners:
            # Several workers may share a machine.
            runner = EvaluationRunner(count_processors(), alone=False)
            atexit.register(runner.close)
            _runners[os.getpid()] = runner
        return _runners[os.getpid()]
