"""Run a compiler on untrusted text, with limits and with access to its own folder only.

A text can include any file (``#include``, ``.incbin``, ``__has_include``) and put its content into the program or into
a message. So the compiler can read only its own programs, headers and the libraries to link.
"""

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from oragent._base.errors import SandboxError
from oragent.sandbox.children import ChildLimits, run_child
from oragent.sandbox.confined_command import ProgramAccess

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
LIMITS = ChildLimits(
    wall_s=180.0, cpu_s=30, memory=2 << 30, file_bytes=32 << 20, others=((resource.RLIMIT_NOFILE, 256),)
)


def run_compiler(argv: Sequence[str], folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler, given by its absolute path, in a folder that only it may write to, with these variables only.

    Raises:
        SandboxError: It cannot be confined, or does not report its folders.
        subprocess.TimeoutExpired: It takes too long.
    """
    readable = tuple(map(str, compiler_files(argv[0], variables.get("PATH", os.defpath))))
    access = ProgramAccess(str(folder), readable, is_lenient=True, is_bare=True)
    return run_child(argv, access, LIMITS, variables=variables, forks=True)


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
