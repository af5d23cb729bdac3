"""Requests to workers and their answers: JSON of one form, checked field by field, on lines of bounded length.

The one function that is called on a worker is ``handle_request``: texts in, a text out.
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

# of an answer: an evaluator's output is bounded to 1 MiB, which escapes make longer
MOST_CHARACTERS = 16 << 20
TEXTS = ("message", "traceback", "log", "output")
TIMES = ("queued_s", "wall_s", "cpu_s", "peak_mb")
OF_EVALUATORS = frozenset(Status) - {Status.SCREENED}
ENDS = frozenset(map(str, EndReason)) | {""}


# bytes of a line: an answer in a text of JSON again
LONGEST = 2 * MOST_CHARACTERS
# with less room than that a failure may be the disk's fault
FULL_MB = 16
_LOCK = threading.Lock()


class MalformedAnswer(OragentError):
    """What a worker answers is no answer: it, or somebody in its place, does not speak our language."""


class WorkerTrouble(OragentError):
    """A worker could not evaluate, for reasons of its own machine."""


def make_request(job: Job, content: Content) -> str:
    """A job as a worker gets it; where files lie there is the worker's business."""
    plain = {
        "source": job.source,
        "limits": vars(job.limits),
        "mode": job.mode,
        "problem_size": job.problem_size,
        "arguments": job.arguments,
        "names": job.names,
        "environment": dict(job.environment),
    }
    return json.dumps({"do": "evaluate", "content": content.digest, "job": plain})


def read_job(plain: Mapping[str, Any], folder: Path, evaluator: str) -> Job:
    """Read a job as the engine sent it, on a worker that has its content in a folder."""
    if (folder / ROOT).is_dir():
        root = folder / ROOT
    else:
        root = folder
    return Job(
        evaluator=folder / evaluator,
        source=plain["source"],
        root_dir=root,
        limits=Limits(**plain["limits"]),
        mode=plain["mode"],
        problem_size=plain["problem_size"],
        arguments=tuple(plain["arguments"]),
        names=tuple(plain["names"]),
        environment=plain["environment"],
    )


def content_missing(digest: str) -> str:
    """Return the answer of a worker that does not have the content."""
    return json.dumps({"needs": digest})


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation as JSON has it."""
    return vars(evaluation) | {"status": str(evaluation.status), "end": str(evaluation.end)}


def read_answer(text: object) -> Evaluation:
    """Read what a worker answers to a job.

    Raises:
        WorkerTrouble: The worker says why it could not evaluate.
        MalformedAnswer: It is not an answer of a worker of ours.
    """
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise MalformedAnswer(f"an answer that is {'too long' if isinstance(text, str) else 'no text'}")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedAnswer("an answer that is no JSON") from None
    if isinstance(plain, dict) and isinstance(plain.get("trouble"), str):
        raise WorkerTrouble(plain["trouble"][:500])
    if not isinstance(plain, dict) or set(plain) != {"evaluation"}:
        raise MalformedAnswer("an answer of another form")
    return read_evaluation(plain["evaluation"])


def read_evaluation(plain: object) -> Evaluation:
    """Read an evaluation, field by field; a MalformedAnswer names the field that is missing or wrong."""
    names = {field.name for field in fields(Evaluation)}
    if not isinstance(plain, dict) or set(plain) != names:
        raise MalformedAnswer("an evaluation of other fields")
    if not all(isinstance(plain[name], str) for name in ("status", "end", *TEXTS)):
        raise MalformedAnswer("an evaluation whose texts are none")
    if plain["status"] not in OF_EVALUATORS or plain["end"] not in ENDS or not isinstance(plain["metrics"], dict):
        raise MalformedAnswer("an evaluation with an unknown status or end, or no metrics")
    status = Status(plain["status"])
    if (status is Status.OK) != (plain["score"] is not None):
        raise MalformedAnswer("an evaluation whose score does not go with its status")
    features = plain["features"]
    if features is not None and not (
        isinstance(features, list) and len(features) <= MAX_FEATURES and all(map(_is_number, features))
    ):
        raise MalformedAnswer("an evaluation whose features are no numbers")
    numbers = [plain[name] for name in TIMES]
    if plain["score"] is None:
        numbers += []
    else:
        numbers += [abs(plain["score"]) if _is_number(plain["score"]) else None]
    if not all(_is_number(value) and value >= 0 for value in numbers):
        raise MalformedAnswer("an evaluation whose figures are no numbers")
    try:
        metrics = storable_metrics(plain["metrics"])
    except ValueError as problem:
        raise MalformedAnswer(f"an evaluation whose {problem}") from None
    texts = {name: storable_text(plain[name]) for name in TEXTS}
    others: dict[str, Any] = texts | {name: float(plain[name]) for name in TIMES}
    return Evaluation(
        status=status,
        score=None if plain["score"] is None else float(plain["score"]),
        features=None if features is None else tuple(features),
        metrics=metrics,
        end=plain["end"],
        **others,
    )


def _is_number(value: object) -> bool:
    """Return True if a value is a finite number; whole ones may be too large for any figure."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def pack_line(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


def unpack_line(received: bytes) -> dict[str, Any] | None:
    """A line as a message; None where the other side is gone, or says what is no message."""
    if not received.endswith(b"\n") or len(received) > LONGEST:
        return None
    try:
        message = json.loads(received)
    except (ValueError, RecursionError):
        return None
    if isinstance(message, dict):
        return message
    return None


class LineConnection:
    """The engine's end of a socket; who sends may be any thread, who reads is one."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._lock = connection, threading.Lock()
        self._lines: BinaryIO = connection.makefile("rb")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        with self._lock:
            self._connection.sendall(pack_line(message))

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; None once there are no more that could be understood."""
        try:
            return unpack_line(self._lines.readline(LONGEST))
        except OSError:
            return None

    def end(self) -> None:
        """Let both sides know that nothing more comes; who reads here closes it."""
        # the other side may have been the first to go
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it for good; for who reads."""
        self.end()
        self._lines.close()
        self._connection.close()


def handle_request(request: str, *parts: bytes) -> str:
    """Do what an engine asks.

    Returns:
        JSON: what came of it; ``trouble`` where this machine is at fault.
    """
    try:
        fields = json.loads(request)
        return json.dumps(HANDLERS[fields["do"]](fields, *parts), default=repr)
    except (OragentError, OSError) as problem:
        return json.dumps({"trouble": escape_text(f"{problem}")[:500]})
    except (KeyError, TypeError, ValueError) as problem:
        return json.dumps({"trouble": f"a request of another version: {type(problem).__name__}"})


def _begin_content(fields: Mapping[str, Any]) -> dict[str, Any]:
    with _LOCK:
        return {"lacks": _content_store().begin_draft(fields["manifest"])}


def _write_part(fields: Mapping[str, Any], part: bytes) -> dict[str, Any]:
    with _LOCK:
        _content_store().write_part(fields["content"], fields["number"], fields["offset"], part)
    return {}


def _finish_content(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Put content in its place, and say what its problem misses on this machine."""
    content = Content.from_manifest(fields["manifest"])
    with _LOCK:
        folder = _content_store().find_folder(content.digest) or _content_store().finish_draft(content.digest)
    problem = load_problem((folder / content.evaluator).parent)
    return {"unmet": list_unmet(replace(problem, about=replace(problem.about, environment={})))}


def _evaluate_job(fields: Mapping[str, Any], *parts: bytes) -> dict[str, Any]:
    digest = fields["content"]
    if parts:
        _store_content(fields["manifest"], parts)
    folder = _content_store().find_folder(digest)
    if folder is None:
        return {"needs": digest}
    evaluation = _process_runner()(read_job(fields["job"], folder, _content_store().evaluator_name(digest)))
    if evaluation.end == EndReason.LOST:
        return {"trouble": "the process that watches over an evaluation was killed"}
    if evaluation.status is not Status.OK and (room := _room_mb()) < FULL_MB:
        return {"trouble": f"{room:.0f} MiB are left for temporary files, which may be why an evaluation failed"}
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


# by process: a fork of this one has servers of its own
_runners: dict[int, Callable[[Job], Evaluation]] = {}


def _process_runner() -> Callable[[Job], Evaluation]:
    """The runner of this process, whose servers stay for as long as it lives."""
    with _LOCK:
        if os.getpid() not in _runners:
            # several stations may share a machine
            runner = EvaluationRunner(count_processors(), alone=False)
            atexit.register(runner.close)
            _runners[os.getpid()] = runner
        return _runners[os.getpid()]


HANDLERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "handshake": lambda fields: {"handshake": handshake_to_json(make_handshake())},
    "lacks": _begin_content,
    "put": _write_part,
    "finish": _finish_content,
    "evaluate": _evaluate_job,
}
