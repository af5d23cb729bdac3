"""Environment of an untrusted program: an allow-list, because any other variable may be a key."""

import os
import re
import sys
from collections.abc import Collection, Mapping

from oragent.sandbox.isolation.means import FORBID

# Everything else stays outside, above all keys and tokens.
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", FORBID)
# By hand, further ones have a use: where one's own files lie, how a terminal shows, how Python runs.
WORDS = """
    HOME USER LOGNAME TMPDIR TERM COLUMNS LINES NO_COLOR VIRTUAL_ENV CONDA_PREFIX NUMBA_CACHE_DIR NUMBA_DISABLE_JIT
    MPLBACKEND SUMO_HOME PYTHONHOME PYTHONHASHSEED PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONWARNINGS
    PYTHONIOENCODING PYTHONNOUSERSITE PYTHONFAULTHANDLER ORAGENT_MEMORY_MB ORAGENT_TIME_LIMIT_S
"""
BY_HAND = frozenset(WORDS.split())
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
TAKEN = re.compile(r"PATH|HOME|TMPDIR|(?:LD|DYLD|PYTHON|ORAGENT|BASH)_?\w*|\w*_NUM_THREADS")
Value = str | bool | int | float | None
LINE = "ORAGENT_DEVICE_LINE"  # tells a command which descriptor is its line, where it was given one
RESTARTED = "ORAGENT_RESTARTED"  # an environment that has it holds nothing that would have to go


def allowed_environment() -> dict[str, str]:
    """Return the variables of our environment that a command may see, with the mark of a cleaned one."""
    return {name: os.environ[name] for name in ALLOWED if name in os.environ} | {RESTARTED: "1"}


def problem_variables(requested: Mapping[str, Value]) -> dict[str, str]:
    """The variables that a problem's evaluator finds beside those on the allow-list.

    Args:
        requested: Values by name; None for the user's own. Names that are refused, and variables that are not set, are
            left out.
    """
    taken = {name: os.environ.get(name) if value is None else _value_text(value) for name, value in requested.items()}
    return {name: value for name, value in taken.items() if value is not None and not reason_to_refuse(name)}


def reason_to_refuse(name: str) -> str:
    """Why a problem may not have a variable, one line; empty where it may."""
    if SECRET.search(name):
        return f"the environment variable {name} looks like a key, and candidates would be in reach of it: leave it out"
    if TAKEN.fullmatch(name) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return f"the environment variable {name} is not a problem's to set: take another name"
    return ""


def _value_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def restart_without_secrets(also: Collection[str] = ()) -> None:
    """Start this Python again, once, if its environment holds more than a stranger's program may find.

    What is deleted from ``os.environ`` still lies in the memory of the process, at its very beginning, and every child
    that is forked inherits it; only a program that starts anew has a new beginning. To be called before anything else:
    what has been done will be done again. Python that reads its program from standard input cannot start again, and
    stays as it is.

    Args:
        also: Names of variables that are kept beside the usual ones.
    """
    names = set(os.environ) - set(also)
    extra = {name for name in names if not (name in ALLOWED or name in BY_HAND or name.endswith("_NUM_THREADS"))}
    words = sys.orig_argv[1:]
    if RESTARTED in names or not extra or not words or "-" in words[:1] or not sys.executable:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    clean = {name: value for name, value in os.environ.items() if name not in extra} | {RESTARTED: "1"}
    os.execve(sys.executable, [sys.executable, *words], clean)
