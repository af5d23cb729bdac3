"""The evaluation server: ``python -m oragent.sandbox.server``, started by the engine.

It consists of four generations of processes, each of which ends with its parent; the first ends with the engine:

1. A new interpreter with allow-listed variables, which cleans up at the end.
2. A process that enters namespaces.
3. The zygote, which imports the modules of the warm-up script, compiles or loads its kernels, and enters a minimal
root.
4. Workers, each of which runs one command at a time. They fork the script from the warm interpreter, which takes
milliseconds instead of seconds.

Texts of a command's files pass through a worker in memory that is wiped, so that no later command inherits them. None
of these processes ever holds a key of the user, and no command runs in any of them.
"""

import argparse
import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from oragent._base.frames import ConnectionClosed, receive_message, send_message
from oragent.sandbox import warm_script
from oragent.sandbox.isolation import kernel, namespaces
from oragent.sandbox.isolation.guest import prepare_confinement
from oragent.sandbox.isolation.mechanisms import Mechanism
from oragent.sandbox.isolation.modules import remember_modules
from oragent.sandbox.isolation.probe import probe_mechanisms
from oragent.sandbox.isolation.process_usage import ControlGroup
from oragent.sandbox.isolation.seccomp import evaluator_filter
from oragent.sandbox.limits import count_tasks, kernel_cache_path
from oragent.sandbox.messages import PYTHON, SHARE, Command, CompanionFolder
from oragent.sandbox.staging import Outline, PlacementError, ServerSetting, switch_root
from oragent.sandbox.supervisor import EngineGone, watch_command
from oragent.sandbox.warm_script import compile_script


def main() -> None:
    """Run commands until the engine ends."""
    arguments = _parse_arguments()
    engine = socket.socket(fileno=arguments.socket)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.hide_memory()
    mechanisms = frozenset(
        Mechanism if arguments.all_mechanisms else (report.mechanism for report in probe_mechanisms() if report.works)
    )
    groups = _make_groups(arguments, mechanisms)
    if arguments.companion_folder:
        companion_folder = CompanionFolder(arguments.companion_folder, tuple(arguments.brought))
    else:
        companion_folder = None
    shared = arguments.scratch, ControlGroup(), arguments.root_dir, arguments.warm_up is not None
    setting = ServerSetting(
        mechanisms, *shared, kernel_cache_path(), _count_other_tasks(mechanisms), companion_folder=companion_folder
    )
    first = os.getpid()
    namespace_parent = os.fork()
    if namespace_parent == 0:
        _run_namespace_parent(engine, setting, groups, arguments, first)
    engine.close()
    os.waitpid(namespace_parent, 0)
    for group in groups:
        group.remove()
    shutil.rmtree(arguments.scratch, ignore_errors=True)


def _run_namespace_parent(
    engine: socket.socket, setting: ServerSetting, groups: list[ControlGroup], arguments: argparse.Namespace, first: int
) -> NoReturn:
    """Enter new namespaces, fork the zygote into them, and wait for its end."""
    try:
        kernel.die_with_parent(first)
        if Mechanism.NAMESPACES in setting.mechanisms:
            for number in range(arguments.workers):
                (arguments.scratch / str(number)).mkdir()
            namespaces.enter_namespaces()
        # A parent outside the namespace has PID 0 inside it.
        parent = 0 if Mechanism.NAMESPACES in setting.mechanisms else os.getpid()
        zygote = os.fork()
        if zygote == 0:
            _run_zygote(engine, setting, groups, arguments.warm_up, parent, _choose_processors(arguments))
        engine.close()
        os.waitpid(zygote, 0)
    except BaseException as problem:
        # The engine shows the last line.
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
        sys.stderr.flush()
    finally:
        os._exit(0)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--root-dir", type=Path)
    parser.add_argument("--companion-folder", type=Path)
    parser.add_argument("--brought", action="append", default=[])
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--memory-mb", type=int, required=True)
    parser.add_argument("--tasks", type=int, required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument(
        "--all-mechanisms", action="store_true", help="an earlier server of this engine found that all mechanisms work"
    )
    return parser.parse_args()


def _make_groups(arguments: argparse.Namespace, mechanisms: frozenset[Mechanism]) -> list[ControlGroup]:
    if Mechanism.CGROUPS not in mechanisms:
        return []
    share = SHARE * arguments.memory_mb, SHARE * arguments.tasks
    groups = [ControlGroup.make(f"{arguments.group}-{number}", *share) for number in range(arguments.workers)]
    if not all(group.bounds for group in groups):
        raise OSError("control groups worked in the probe and fail now")
    return groups


def _choose_processors(arguments: argparse.Namespace) -> list[int]:
    """Return the processors to which workers are pinned, one each; empty if the kernel is to choose.

    The processes of an evaluation take turns: scorer, candidate, simulator. On one processor the next process finds
    warm caches and need not wait for another processor to wake up. With fewer workers than processors, the kernel
    chooses better.
    """
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if arguments.alone and 1 < len(processors) <= arguments.workers:
        return processors
    return []


def _count_other_tasks(mechanisms: frozenset[Mechanism]) -> int:
    """Return the number of tasks that count against the limit; only a new user namespace starts with 0."""
    fresh = Mechanism.NAMESPACES in mechanisms and not kernel.has_capability(kernel.CAP_SYS_ADMIN)
    if fresh:
        return 0
    return count_tasks()


def _run_zygote(
    engine: socket.socket,
    setting: ServerSetting,
    groups: list[ControlGroup],
    script: Path | None,
    parent: int,
    processors: list[int],
) -> NoReturn:
    """Warm up, then fork a worker for each connection that the engine sends."""
    try:
        kernel.die_with_parent(parent)
        if script is not None:
            warm_script.import_modules(script, setting.companion_folder)
        setting = switch_root(setting, script)
        if script is not None and setting.companion_folder:
            warm_script.import_helpers(script, setting.companion_folder)
        prepare_confinement(setting.needed)
        remember_modules()
        if Mechanism.SECCOMP in setting.mechanisms:
            for is_persistent in (False, True):
                # Compile the filters once for all children.
                evaluator_filter(sockets=is_persistent)
        gc.collect()
        gc.freeze()
        # Ended workers are not waited for.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        zygote = os.getpid()
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        hello = {"threads": threads, "python": PYTHON, "all_mechanisms": setting.mechanisms == frozenset(Mechanism)}
        send_message(engine, hello)
        with contextlib.suppress(ConnectionClosed):
            while True:
                request, (connection,) = receive_message(engine)
                slot = request["slot"]
                if os.fork() == 0:
                    engine.close()
                    group = groups[slot] if groups else ControlGroup()
                    worker_setting = replace(setting, scratch=setting.scratch / str(slot), group=group)
                    if processors:
                        os.sched_setaffinity(0, {processors[slot % len(processors)]})
                    _run_worker(socket.socket(fileno=connection), worker_setting, script, zygote)
                os.close(connection)
    except BaseException as problem:
        # The engine shows the last line.
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
        sys.stderr.flush()
    finally:
        os._exit(0)


def _run_worker(engine: socket.socket, setting: ServerSetting, script: Path | None, zygote: int) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kernel.die_with_parent(zygote)
        kernel.adopt_orphans()
        if Mechanism.NAMESPACES in setting.mechanisms:
            # Mounts of the worker's commands stay in this namespace.
            kernel.unshare(kernel.CLONE_NEWNS)
        handle = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else None
        send_message(engine, {"ready": True}, () if handle is None else (handle,))
        if script is not None:
            with contextlib.suppress(OSError):
                compile_script(str(setting.scratch / script.name), script.read_bytes())
        with contextlib.suppress(ConnectionClosed, EngineGone, PlacementError):
            while True:
                _run_command(engine, setting)
    finally:
        os._exit(0)


def _run_command(engine: socket.socket, setting: ServerSetting) -> None:
    """Run one command, without keeping its texts in the memory of this process."""
    plain, lines = receive_message(engine)
    try:
        device_line = lines[0] if lines else -1
        lengths = plain.pop("lengths")
        watch_command(Outline(Command.from_plain(plain), lengths, engine, device_line), setting)
    except PlacementError as problem:
        send_message(engine, {"trouble": str(problem)})
        raise
    finally:
        for device_line in lines:
            os.close(device_line)


if __name__ == "__main__":
    main()
