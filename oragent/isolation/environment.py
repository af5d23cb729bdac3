"""The environment that a stranger's program may find: an allow-list, as what is not on it may be a key."""

import os
import sys

from oragent.isolation.means import FORBID

__all__ = ["KEPT", "RESTARTED", "kept", "restart_without_secrets"]

# Everything else stays outside, above all keys and tokens.
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", FORBID)
# By hand, further ones have a use: where one's own files lie, how a terminal shows, how Python runs.
WORDS = """
    HOME USER LOGNAME TMPDIR TERM COLUMNS LINES NO_COLOR VIRTUAL_ENV CONDA_PREFIX NUMBA_CACHE_DIR NUMBA_DISABLE_JIT
    MPLBACKEND SUMO_HOME PYTHONHOME PYTHONHASHSEED PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONWARNINGS
    PYTHONIOENCODING PYTHONNOUSERSITE PYTHONFAULTHANDLER ORAGENT_MEMORY_MB ORAGENT_TIME_LIMIT_S
"""
BY_HAND = frozenset(WORDS.split())
RESTARTED = "ORAGENT_RESTARTED"  # an environment that has it holds nothing that would have to go


def kept() -> dict[str, str]:
    """What of our environment a command may find, with the mark of one that was cleaned."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | {RESTARTED: "1"}


def restart_without_secrets() -> None:
    """Start this Python again, once, if its environment holds more than a stranger's program may find.

    What is deleted from ``os.environ`` still lies in the memory of the process, at its very beginning, and every child
    that is forked inherits it; only a program that starts anew has a new beginning. To be called before anything else:
    what has been done will be done again. Python that reads its program from standard input cannot start again, and
    stays as it is.
    """
    names = set(os.environ)
    extra = {name for name in names if not (name in KEPT or name in BY_HAND or name.endswith("_NUM_THREADS"))}
    words = sys.orig_argv[1:]
    if RESTARTED in names or not extra or not words or "-" in words[:1] or not sys.executable:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    clean = {name: value for name, value in os.environ.items() if name not in extra} | {RESTARTED: "1"}
    os.execve(sys.executable, [sys.executable, *words], clean)
