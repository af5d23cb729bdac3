"""Entry point of a worker: the only function that is called there; texts in, a text out."""

import atexit
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from oragent._base.errors import OragentError
from oragent._base.plain import escape_text
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.cluster.content import Content, ContentStore
from oragent.evaluation.cluster.handshake import handshake_to_json, make_handshake
from oragent.evaluation.cluster.payload import evaluation_to_json, read_job
from oragent.evaluation.offers import list_unmet
from oragent.evaluation.problem import load_problem
from oragent.sandbox.limits import count_processors
from oragent.sandbox.messages import EndReason

FULL_MB = 16  # with less room than that a failure may be the disk's fault
_LOCK = threading.Lock()


def handle_request(request: str, *parts: bytes) -> str:
    """Do what an engine asks.

    Args:
        request: JSON: what is to be done, with what.
        parts: Bytes of files of the content, where it is sent along.

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


def _answer_handshake(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"handshake": handshake_to_json(make_handshake())}


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
    """Keep content that came along whole, file by file."""
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


_runners: dict[int, Callable[[Job], Evaluation]] = {}  # by process: a fork of this one has servers of its own


def _process_runner() -> Callable[[Job], Evaluation]:
    """The runner of this process, whose servers stay for as long as it lives."""
    with _LOCK:
        if os.getpid() not in _runners:
            runner = EvaluationRunner(count_processors(), alone=False)  # several stations may share a machine
            atexit.register(runner.close)
            _runners[os.getpid()] = runner
        return _runners[os.getpid()]


HANDLERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "handshake": _answer_handshake,
    "lacks": _begin_content,
    "put": _write_part,
    "finish": _finish_content,
    "evaluate": _evaluate_job,
}
