"""Mechanisms that confine untrusted programs, and the guarantees that each of them gives."""

import os
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache

from oragent._base.errors import SandboxError

# For tests, and where a mechanism gives trouble. "limits": nothing else is used. "without:namespaces,cgroups": all but
# these; "landlock>5" among them leaves Landlock as kernels had it whose version of the interface was 5.
FORBID = "ORAGENT_ISOLATION"
# "portable": as on a system that is not Linux, limits alone and no file or call that only Linux has; from the start on.
PORTABLE = "portable"
LINUX = sys.platform == "linux" and os.environ.get(FORBID) != PORTABLE
NEWER, NEWEST_LANDLOCK = "landlock>", 1000


class Mechanism(StrEnum):
    """A mechanism of the kernel that can be there or not."""

    LIMITS = "limits"
    IDENTITY = "identity"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    CGROUPS = "cgroups"
    SIGNALS = "signals"


class Guarantee(StrEnum):
    """What a candidate cannot do."""

    BOUNDED = "take more time, memory or output in its process than allowed"
    SCORED = "print or patch its way to a score: the scorer never runs it"
    SECRETS = "inherit your environment or an open file"
    ALONE = "start processes of its own"
    UNTOUCHED = "change, create or delete a file"
    UNREAD = "read your files, other candidates or data that it is not given"
    OFFLINE = "open a network connection"
    UNSEEN = "see or signal another process, or see which files there are and how busy the machine is"


# Each is held where all the mechanism of any one group are at work on the candidate's process.
HELD_BY: Mapping[Guarantee, tuple[frozenset[Mechanism], ...]] = {
    Guarantee.BOUNDED: (frozenset({Mechanism.LIMITS}),),
    Guarantee.SCORED: (frozenset({Mechanism.LIMITS}),),
    Guarantee.SECRETS: (frozenset({Mechanism.LIMITS}),),
    Guarantee.ALONE: (frozenset({Mechanism.SECCOMP}), frozenset({Mechanism.IDENTITY})),
    Guarantee.UNTOUCHED: (frozenset({Mechanism.LANDLOCK}), frozenset({Mechanism.NAMESPACES})),
    Guarantee.UNREAD: (frozenset({Mechanism.LANDLOCK}), frozenset({Mechanism.NAMESPACES})),
    # a socket by its path is in no namespace of networks
    Guarantee.OFFLINE: (frozenset({Mechanism.SECCOMP}),),
    # paths and calls each tell of it
    Guarantee.UNSEEN: (frozenset({Mechanism.NAMESPACES, Mechanism.SECCOMP}),),
}


def is_allowed(mechanism: Mechanism) -> bool:
    """Return True if the user lets us use a mechanism at all; a SandboxError if the variable cannot be read."""
    return mechanism is Mechanism.LIMITS or (LINUX and mechanism not in _parse_forbidden(os.environ.get(FORBID, ""))[0])


def newest_landlock() -> int:
    """The newest version of Landlock's interface that the user lets us use."""
    return _parse_forbidden(os.environ.get(FORBID, ""))[1]


@cache
def _parse_forbidden(text: str) -> tuple[frozenset[Mechanism], int]:
    if not text:
        return frozenset(), NEWEST_LANDLOCK
    if text in (Mechanism.LIMITS, PORTABLE):
        return frozenset(Mechanism) - {Mechanism.LIMITS}, 0
    kind, _, listed = text.partition(":")
    words, version = listed.split(","), NEWEST_LANDLOCK
    for word in [word for word in words if word.startswith(NEWER)]:
        words.remove(word)
        if word[len(NEWER) :].isdecimal():
            version = int(word[len(NEWER) :])
        else:
            version = -1
    forbiddable = frozenset(Mechanism) - {Mechanism.LIMITS, Mechanism.SIGNALS}
    if kind != "without" or version < 0 or not forbiddable.issuperset(words):
        raise SandboxError(
            f"{FORBID} cannot be {text!r}: give 'limits', 'portable', or 'without:' and any of "
            f"{', '.join(sorted(forbiddable))}, {NEWER}5, parted by commas"
        )
    return frozenset(map(Mechanism, words)), version


def list_not_held(working: Iterable[Mechanism]) -> list[Guarantee]:
    """List the guarantees that these mechanism do not give."""
    have = set(working)
    return [guarantee for guarantee, groups in HELD_BY.items() if not any(group <= have for group in groups)]
