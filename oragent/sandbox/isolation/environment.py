"""Environment of an untrusted program: variables, user, capabilities, and the files of Python.

Variables come from an allow-list, because any other variable may hold a key. Root becomes an
unprivileged user if possible.
"""

import os
import re
import stat
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.mechanisms import FORBID

# All other variables are removed, above all keys and tokens.
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", FORBID)
# More variables that are useful when a user runs an evaluator by hand: folders, terminal, options of Python.
WORDS = """
    HOME USER LOGNAME TMPDIR DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR
    TERM COLUMNS LINES NO_COLOR VIRTUAL_ENV CONDA_PREFIX NUMBA_CACHE_DIR NUMBA_DISABLE_JIT
    MPLBACKEND SUMO_HOME PYTHONHOME PYTHONHASHSEED PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONWARNINGS
    PYTHONIOENCODING PYTHONNOUSERSITE PYTHONFAULTHANDLER ORAGENT_MEMORY_MB ORAGENT_TIME_LIMIT_S
"""
BY_HAND = frozenset(WORDS.split())
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
TAKEN = re.compile(r"PATH|HOME|TMPDIR|(?:LD|DYLD|PYTHON|ORAGENT|BASH)_?\w*|\w*_NUM_THREADS")
Value = str | bool | int | float | None
# Variable with the descriptor of a command's device socket, if it was given one.
LINE = "ORAGENT_DEVICE_LINE"
# Mark of an environment that has already been cleaned.
RESTARTED = "ORAGENT_RESTARTED"


NOBODY = 65534
PACKAGE = Path(__file__).parents[2]


def allowed_environment() -> dict[str, str]:
    """Return the variables of this process that a command may see, with the mark of a clean environment."""
    return {name: os.environ[name] for name in ALLOWED if name in os.environ} | {RESTARTED: "1"}


def is_known(name: str) -> bool:
    """Return True if a variable is useful when a user runs a program by hand, and holds no key."""
    return name in ALLOWED or name in BY_HAND or name.endswith("_NUM_THREADS")


def environment_by_hand(is_needed: Callable[[str], object] = lambda name: False) -> dict[str, str]:
    """Return the variables of this process for a program that works with the files of the user, such as one of a queue.

    Args:
        is_needed: Says of a variable whether this program needs it too; names that look like keys are left out.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if is_known(name) or (is_needed(name) and not SECRET.search(name))
    }


def problem_variables(requested: Mapping[str, Value]) -> dict[str, str]:
    """Return the variables that a problem sets for its evaluator; the value None takes the user's own value.

    Refused and unset variables are left out.
    """
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in requested.items()}
    taken = {name: os.environ.get(name) if value is None else texts[name] for name, value in requested.items()}
    return {name: value for name, value in taken.items() if value is not None and not reason_to_refuse(name)}


def reason_to_refuse(name: str) -> str:
    """Return in one line why a problem may not set a variable; empty if it may."""
    if SECRET.search(name):
        return f"the environment variable {name} looks like a key, which candidates could read: leave it out"
    if TAKEN.fullmatch(name) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        return f"the environment variable {name} cannot be set by a problem: use another name"
    return ""


def restart_without_secrets(also: Collection[str] = ()) -> None:
    """Restart this Python once if its environment holds more than an untrusted program may read.

    Variables deleted from ``os.environ`` stay in the initial memory of the process, and every forked child inherits
    them. Only a new program gets a new environment block. Call this first, since everything done before is repeated. A
    Python that reads its program from standard input cannot be restarted and continues unchanged.
    """
    names = set(os.environ) - set(also)
    extra = {name for name in names if not is_known(name)}
    words = sys.orig_argv[1:]
    if RESTARTED in names or not extra or not words or "-" in words[:1] or not sys.executable:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    clean = {name: value for name, value in os.environ.items() if name not in extra} | {RESTARTED: "1"}
    os.execve(sys.executable, [sys.executable, *words], clean)


def become_nobody(*capabilities: int) -> None:
    """Switch from root to the unprivileged user and drop all capabilities except these."""
    become_user((NOBODY, NOBODY), *capabilities)


def become_user(user: Sequence[int], *capabilities: int) -> None:
    """Switch from root to another user and group, and drop all capabilities except these."""
    if capabilities:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    number, group = user
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(number, number, number)
    kernel.keep_capabilities(*capabilities)


def readable_by_all(paths: Iterable[Path]) -> bool:
    """Return True if any user may read these paths, unprivileged processes included."""
    return all(_is_readable(path) for path in paths)


def forget_readable() -> None:
    """Clear the cache of readable paths after the root has changed."""
    _is_readable.cache_clear()


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """Return the folders that a program needs for imports: Python, its packages, this package, system libraries."""
    paths = {path.resolve() for path in interpreter_places()}
    inner = {path for path in paths if any(path.is_relative_to(outer) for outer in paths - {path})}
    return tuple(sorted(paths - inner))


@cache
def interpreter_places() -> tuple[Path, ...]:
    """Return the folders of ``interpreter_paths`` with links not followed, and the Python executable."""
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
