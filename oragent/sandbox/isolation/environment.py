"""What an untrusted program is given of this process: variables, user, capabilities, and Python's files.

Variables are those of an allow-list, because any other may be a key; the user is ``nobody`` where it could be root.
"""

import os
import re
import stat
import sys
import sysconfig
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.mechanisms import FORBID

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
# tells a command which descriptor is its line, where it was given one
LINE = "ORAGENT_DEVICE_LINE"
# an environment that has it holds nothing that would have to go
RESTARTED = "ORAGENT_RESTARTED"


NOBODY = 65534
PACKAGE = Path(__file__).parents[2]


def allowed_environment() -> dict[str, str]:
    """Return the variables of our environment that a command may see, with the mark of a cleaned one."""
    return {name: os.environ[name] for name in ALLOWED if name in os.environ} | {RESTARTED: "1"}


def problem_variables(requested: Mapping[str, Value]) -> dict[str, str]:
    """The variables of a problem's evaluator by name; None takes the user's own, refused or unset ones are left out."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in requested.items()}
    taken = {name: os.environ.get(name) if value is None else texts[name] for name, value in requested.items()}
    return {name: value for name, value in taken.items() if value is not None and not reason_to_refuse(name)}


def reason_to_refuse(name: str) -> str:
    """Why a problem may not have a variable, one line; empty where it may."""
    if SECRET.search(name):
        return f"the environment variable {name} looks like a key, and candidates would be in reach of it: leave it out"
    if TAKEN.fullmatch(name) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return f"the environment variable {name} is not a problem's to set: take another name"
    return ""


def restart_without_secrets(also: Collection[str] = ()) -> None:
    """Start this Python again, once, if its environment holds more than a stranger's program may find.

    What is deleted from ``os.environ`` still lies in the memory of the process, at its very beginning, and every child
    that is forked inherits it; only a program that starts anew has a new beginning. To be called before anything else:
    what has been done will be done again. Python that reads its program from standard input cannot start again, and
    stays as it is.
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


def become_nobody(*capabilities: int) -> None:
    """Give up being root, and every right of root's but these."""
    if capabilities:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.keep_capabilities(*capabilities)


def readable_by_all(paths: Iterable[Path]) -> bool:
    """Return True if anybody may read these paths: a process that is nobody can still import what lies there."""
    return all(_is_readable(path) for path in paths)


def forget_readable() -> None:
    """Forget what anybody may read: the root of all files is another one now."""
    _is_readable.cache_clear()


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """Where Python, its packages, ours and the system's libraries lie: what a program needs to import."""
    paths = {path.resolve() for path in interpreter_places()}
    inner = {path for path in paths if any(path.is_relative_to(outer) for outer in paths - {path})}
    return tuple(sorted(paths - inner))


@cache
def interpreter_places() -> tuple[Path, ...]:
    """The same under the names by which it is looked for, links among them, and Python to be started."""
    locations = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()}
    locations |= {entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")}
    system = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"}
    existing = {Path(location) for location in {*locations, *system, sys.executable} if location} | {PACKAGE}
    return tuple(sorted(path for path in existing if path.is_absolute() and os.path.exists(path) and path != Path("/")))


@cache
def _is_readable(path: Path) -> bool:
    try:
        need = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        above = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
        return above and path.stat().st_mode & need == need
    except OSError:
        return False
