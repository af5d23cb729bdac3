"""What a worker does: one function, all that is ever called there by its name; texts go in, a text comes out."""

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
from oragent._base.plain import plain
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.cluster import introduction
from oragent.evaluation.cluster.content import Content, Shelf
from oragent.evaluation.cluster.parcel import job_of, told
from oragent.evaluation.problem import load
from oragent.evaluation.requirements import unmet
from oragent.sandbox.lifecycle import EndReason
from oragent.sandbox.limits import processors

FULL_MB = 16  # with less room than that a failure may be the disk's fault
_LOCK = threading.Lock()


def serve(request: str, *parts: bytes) -> str:
    """Do what an engine asks.

    Args:
        request: JSON: what is to be done, with what.
        parts: Bytes of files of the content, where it is sent along.

    Returns:
        JSON: what came of it; ``trouble`` where this machine is at fault.
    """
    try:
        asked = json.loads(request)
        return json.dumps(ASKED[asked["do"]](asked, *parts), default=repr)
    except (OragentError, OSError) as problem:
        return json.dumps({"trouble": plain(f"{problem}")[:500]})
    except (KeyError, TypeError, ValueError) as problem:
        return json.dumps({"trouble": f"a request of another version: {type(problem).__name__}"})


def _introduce(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"introduction": introduction.as_plain(introduction.introduce())}


def _lacks(asked: Mapping[str, Any]) -> dict[str, Any]:
    with _LOCK:
        return {"lacks": _shelf().lacks(asked["manifest"])}


def _put(asked: Mapping[str, Any], part: bytes) -> dict[str, Any]:
    with _LOCK:
        _shelf().put(asked["content"], asked["number"], asked["offset"], part)
    return {}


def _finish(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Put content in its place, and say what its problem misses on this machine."""
    content = Content.read(asked["manifest"])
    with _LOCK:
        folder = _shelf().find(content.digest) or _shelf().finish(content.digest)
    problem = load((folder / content.evaluator).parent)
    return {"unmet": unmet(replace(problem, about=replace(problem.about, environment={})))}


def _evaluate(asked: Mapping[str, Any], *parts: bytes) -> dict[str, Any]:
    digest = asked["content"]
    if parts:
        _take(asked["manifest"], parts)
    folder = _shelf().find(digest)
    if folder is None:
        return {"needs": digest}
    evaluation = _run()(job_of(asked["job"], folder, _shelf().evaluator(digest)))
    if evaluation.end == EndReason.LOST:
        return {"trouble": "the process that watches over an evaluation was killed"}
    if evaluation.status is not Status.OK and (room := _room_mb()) < FULL_MB:
        return {"trouble": f"{room:.0f} MiB are left for temporary files, which may be why an evaluation failed"}
    return {"evaluation": told(evaluation)}


def _take(manifest: str, parts: tuple[bytes, ...]) -> None:
    """Keep content that came along whole, file by file."""
    digest = Content.read(manifest).digest
    with _LOCK:
        for number in _shelf().lacks(manifest):
            _shelf().put(digest, number, 0, parts[number])
        if _shelf().find(digest) is None:
            _shelf().finish(digest)


def _room_mb() -> float:
    return shutil.disk_usage(tempfile.gettempdir()).free / (1 << 20)


@cache
def _shelf() -> Shelf:
    return Shelf()


_runners: dict[int, Callable[[Job], Evaluation]] = {}  # by process: a fork of this one has servers of its own


def _run() -> Callable[[Job], Evaluation]:
    """The runner of this process, whose servers stay for as long as it lives."""
    with _LOCK:
        if os.getpid() not in _runners:
            runner = EvaluationRunner(processors(), alone=False)  # several stations may share a machine
            atexit.register(runner.close)
            _runners[os.getpid()] = runner
        return _runners[os.getpid()]


ASKED: Mapping[str, Callable[..., dict[str, Any]]] = {
    "introduce": _introduce,
    "lacks": _lacks,
    "put": _put,
    "finish": _finish,
    "evaluate": _evaluate,
}
