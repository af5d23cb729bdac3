"""Run a compiler on untrusted text, with limits and with access to its own folder only.

A text can include any file (``#include``, ``.incbin``, ``__has_include``) and put its content into the program or into
a message. So the compiler can read only its own programs, headers and the libraries to link.
"""

import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

from oragent._base.errors import SandboxError
from oragent.sandbox.isolation import kernel, landlock, namespaces, root, seccomp
from oragent.sandbox.isolation.guest import drop_privileges
from oragent.sandbox.isolation.mechanisms import Mechanism, is_allowed
from oragent.sandbox.isolation.seccomp import evaluator_filter

NOTHING = Path("/dev/null")
# Files with which a shared library of C++ is linked, and the files that these name.
LINKED = frozenset(
    f"{name}.{ending}"
    for ending, names in {
        "o": "crti crtn crt1 Scrt1",
        "so": "libc libm libmvec libstdc++ libgcc_s",
        "so.1": "libmvec libgcc_s ld-linux-aarch64",
        "so.2": "ld-linux-x86-64",
        "so.6": "libc libm libstdc++",
        "a": "libc_nonshared libgcc",
    }.items()
    for name in names.split()
)
PROGRAMS = ("as", "ld", "ld.bfd", "ld.gold", "ld.lld")
ASK_S = 20.0
# Limits of each process of the compiler.
CPU_S = 30
MEMORY_MB = 2048
FILE_MB = 32
OUTPUT_BYTES = 64 << 10
WALL_S = 180.0
FAILED_TO_CONFINE = 79


@dataclass(frozen=True)
class CompilerResult:
    """Result of a compiler run."""

    code: int
    # Output of the compiler, at most 64 KiB.
    output: str
    # True if the compiler was started; if not, ``output`` says why.
    confined: bool = True


def run_compiler(argv: Sequence[str], folder: Path, variables: Mapping[str, str]) -> CompilerResult:
    """Run a compiler, given by its absolute path, in a folder that only it may write to, with these variables only."""
    readable = compiler_files(argv[0], variables.get("PATH", os.defpath))
    # The compiler may run as an unprivileged user.
    folder.chmod(0o777)
    reader, writer = os.pipe()
    scorer, pid = os.getpid(), os.fork()
    if pid == 0:
        _exec_compiler(argv, (folder, readable), variables, writer, scorer)
    os.close(writer)
    output, until = bytearray(), time.monotonic() + WALL_S
    try:
        while chunk := _read_chunk(reader, until):
            output += chunk[: max(0, OUTPUT_BYTES - len(output))]
    finally:
        os.close(reader)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return CompilerResult(code, output.decode(errors="replace"), code != FAILED_TO_CONFINE)


def _read_chunk(reader: int, until: float) -> bytes:
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    ready = waiting.poll(max(0.0, until - time.monotonic()) * 1000)
    if ready:
        return os.read(reader, 1 << 16)
    return b""


def _exec_compiler(
    argv: Sequence[str], files: tuple[Path, tuple[Path, ...]], variables: Mapping[str, str], output: int, parent: int
) -> NoReturn:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        signal.setitimer(signal.ITIMER_PROF, 0)
        _confine_compiler(*files, parent)
        os.chdir(files[0])
        os.execve(argv[0], list(argv), dict(variables))
    except BaseException as problem:
        os.write(2, f"{type(problem).__name__}: {problem}".encode())
    os._exit(FAILED_TO_CONFINE)


@cache
def compiler_files(compiler: str, path: str) -> tuple[Path, ...]:
    """List the files that a compiler reads to build a library: programs, headers and libraries.

    Raises:
        SandboxError: The compiler does not report its folders.
    """
    installed = _ask(compiler, "-print-search-dirs")
    headers = _ask(compiler, "-E", "-v", "-x", "c++", os.devnull)
    listed = re.search(r"^libraries: =?(.*)$", installed, re.MULTILINE)
    folders = [Path(os.path.normpath(name)) for name in (listed[1] if listed else "").split(":") if name]
    included = re.findall(r"^ (/\S+)$", headers, re.MULTILINE)
    if not folders or not included:
        raise SandboxError(f"{compiler} does not report the folders of its headers and libraries")
    compiler_paths = {folder for folder in folders if {"gcc", "clang"} & set(folder.parts) and folder.is_dir()}
    helpers = (_ask(compiler, f"-print-prog-name={word}").strip() for word in ("cc1plus", "collect2"))
    compiler_paths |= {Path(name).parent for name in helpers if os.path.isabs(name)}
    compiler_paths |= {Path(name) for name in (_ask(compiler, "-print-resource-dir").strip(),) if os.path.isdir(name)}
    linked = {folder / name for folder in folders for name in LINKED if (folder / name).is_file()}
    programs = [compiler, *filter(None, (shutil.which(name, path=path) for name in PROGRAMS))]
    executables = [
        str(file)
        for folder in compiler_paths
        for file in folder.glob("*")
        if file.is_file() and os.access(file, os.X_OK)
    ]
    loaded = re.findall(r"(/\S+) \(0x", _ask("ldd", *programs, *executables))
    return tuple(sorted({*compiler_paths, *linked, *map(Path, (*included, *programs, *loaded))}))


def _ask(*command: str) -> str:
    try:
        completed = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=ASK_S, check=False, env={"LANG": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if "-v" in command or not completed.returncode:
        return f"{completed.stdout}\n{completed.stderr}"
    return completed.stdout


def _confine_compiler(folder: Path, readable: tuple[Path, ...], parent: int) -> None:
    """Drop all rights that compiling does not need, as far as the kernel supports it."""
    if is_allowed(Mechanism.NAMESPACES):
        try:
            namespaces.enter_namespaces(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
            has_namespaces = True
        except OSError:
            has_namespaces = False
        if has_namespaces:
            with suppress(OSError):
                kernel.unshare(kernel.CLONE_NEWNET)
            root.pivot_to_minimal_root(readable, (folder,), devices=(NOTHING,))
    kernel.no_new_privileges()
    kernel.lower_limits(
        {
            resource.RLIMIT_CPU: CPU_S,
            resource.RLIMIT_DATA if os.uname().sysname == "Linux" else resource.RLIMIT_AS: MEMORY_MB << 20,
            resource.RLIMIT_FSIZE: FILE_MB << 20,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 256,
        }
    )
    drop_privileges((folder,))
    kernel.die_with_parent(parent)
    if is_allowed(Mechanism.LANDLOCK):
        with suppress(OSError):
            landlock.restrict_files((*readable, folder), (folder, NOTHING), network=False)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(evaluator_filter())
