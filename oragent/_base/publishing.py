"""Results and progress of a command for programs: a command publishes them, and the command line writes them as JSON.

Without a listener a publication does nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[object], None]
ProgressListener = Callable[[str, Mapping[str, object]], None]

_RESULT: ContextVar[Listener | None] = ContextVar("result listener", default=None)
_PROGRESS: ContextVar[ProgressListener | None] = ContextVar("progress listener", default=None)


def publish_result(value: object) -> None:
    """Publish the result of a command: a dataclass, a pydantic model, or plain data."""
    listener = _RESULT.get()
    if listener is not None:
        listener(value)


def publish_progress(kind: str, data: Mapping[str, object]) -> None:
    """Publish an event of a command in progress."""
    listener = _PROGRESS.get()
    if listener is not None:
        listener(kind, data)


def has_result_listener() -> bool:
    """Return True if the result is requested as data, so that no text is needed."""
    return _RESULT.get() is not None


@contextmanager
def listen(result: Listener | None, progress: ProgressListener | None) -> Iterator[None]:
    """Pass publications to functions within the context."""
    result_token, progress_token = _RESULT.set(result), _PROGRESS.set(progress)
    try:
        yield
    finally:
        _RESULT.reset(result_token)
        _PROGRESS.reset(progress_token)
