"""Process of a command: confines itself, then becomes the program."""

import os
from contextlib import suppress
from typing import NoReturn

from oragent.sandbox import warm_script
from oragent.sandbox.isolation import environment, kernel, landlock, namespaces, root, seccomp
from oragent.sandbox.isolation.guest import drop_privileges
from oragent.sandbox.isolation.means import Means
from oragent.sandbox.isolation.seccomp import evaluator_filter
from oragent.sandbox.limits import set_limits
from oragent.sandbox.staging import Launch, ServerSetting

TROUBLE, RULES, LINE = 3, 4, 5  # descriptors, after the standard streams


def run_command_process(launch: Launch, setting: ServerSetting, streams: tuple[int, int], trouble: int) -> NoReturn:
    """Never returns: ends as the program does, or with a word in ``trouble`` if it cannot be confined.

    Args:
        launch: Place of the command.
        setting: Setting of the server.
        streams: Descriptors of its standard output and standard error.
        trouble: Descriptor that is closed once the command begins.
    """
    try:
        setting.group.join()
        _rearrange_descriptors(launch, streams, trouble)
        trouble = TROUBLE
        _confine_command(launch, setting)
    except BaseException as problem:
        os.write(trouble, f"{type(problem).__name__}: {problem}".encode())
        os._exit(70)
    os.close(TROUBLE)
    if launch.environment:
        os.environ |= launch.environment
    if launch.device_line >= 0:
        os.environ[environment.LINE] = str(LINE)
    if launch.forked:
        warm_script.run_script(launch.argv[1], launch.argv[2:], launch.program)
    with suppress(OSError):
        os.execvp(launch.argv[0], launch.argv)
    os._exit(127)


def _rearrange_descriptors(launch: Launch, streams: tuple[int, int], trouble: int) -> None:
    """Keep the standard streams, the line for trouble and the rules, and close everything else."""
    os.setsid()
    source = os.open(os.devnull, os.O_RDONLY) if launch.stdin < 0 else launch.stdin
    descriptors = [source, *streams, trouble]
    if launch.rules >= 0 or launch.device_line >= 0:
        descriptors.append(launch.rules if launch.rules >= 0 else source)
    if launch.device_line >= 0:
        descriptors.append(launch.device_line)
    high = [os.dup(descriptor) for descriptor in descriptors]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number, inheritable=number < TROUBLE or number == LINE)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))


def _confine_command(launch: Launch, setting: ServerSetting) -> None:
    """Give up everything but the command's folders."""
    if launch.rooted:
        root.leave_old_root(proc=True)
    elif Means.NAMESPACES in setting.means:
        namespaces.mount_own_proc()
    os.chdir(launch.folder)
    set_limits(launch.limits, setting.others, launch.held)
    kernel.no_new_privileges()
    if Means.IDENTITY in setting.means:
        drop_privileges(launch.needed)
    kernel.die_with_parent(launch.parent)
    if launch.rules >= 0:
        landlock.enforce_ruleset(RULES)
    if Means.SECCOMP in setting.means and not launch.trusted:
        seccomp.install_filter(evaluator_filter(sockets=launch.lasts))
