"""Mechanisms that confine untrusted programs, and the guarantees that each of them gives."""

import os
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache

from oragent._base.errors import SandboxError

# For tests, and for machines on which a mechanism fails. "limits": use nothing else. "without:namespaces,cgroups": use
# all but these. "landlock>5" in this list restricts Landlock to version 5 of its interface.
FORBID = "ORAGENT_ISOLATION"
# "portable": behave as on a system other than Linux, with limits alone and without Linux calls, from the start.
PORTABLE = "portable"
LINUX = sys.platform == "linux" and os.environ.get(FORBID) != PORTABLE
NEWER, NEWEST_LANDLOCK = "landlock>", 1000


class Mechanism(StrEnum):
    """Kernel mechanisms, each of which may be missing."""

    LIMITS = "limits"
    IDENTITY = "identity"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    CGROUPS = "cgroups"
    SIGNALS = "signals"


class Guarantee(StrEnum):
    """Actions that a candidate cannot take."""

    BOUNDED = "take more time, memory or output in its process than allowed"
    SCORED = "print or patch its way to a score: the scorer never runs it"
    SECRETS = "inherit your environment or an open file"
    ALONE = "start processes of its own"
    UNTOUCHED = "change, create or delete a file"
    UNREAD = "read your files, other candidates or data that it is not given"
    OFFLINE = "open a network connection"
    UNSEEN = "see or signal another process, or see which files there are and how busy the machine is"


# Each guarantee holds if all mechanisms of one of its groups apply to the candidate's process.
HELD_BY: Mapping[Guarantee, tuple[frozenset[Mechanism], ...]] = {
    Guarantee.BOUNDED: (frozenset({Mechanism.LIMITS}),),
    Guarantee.SCORED: (frozenset({Mechanism.LIMITS}),),
    Guarantee.SECRETS: (frozenset({Mechanism.LIMITS}),),
    Guarantee.ALONE: (frozenset({Mechanism.SECCOMP}), frozenset({Mechanism.IDENTITY})),
    Guarantee.UNTOUCHED: (frozenset({Mechanism.LANDLOCK}), frozenset({Mechanism.NAMESPACES})),
    Guarantee.UNREAD: (frozenset({Mechanism.LANDLOCK}), frozenset({Mechanism.NAMESPACES})),
    # Network namespaces do not cover sockets that are addressed by a path.
    Guarantee.OFFLINE: (frozenset({Mechanism.SECCOMP}),),
    # Paths and calls both reveal other processes.
    Guarantee.UNSEEN: (frozenset({Mechanism.NAMESPACES, Mechanism.SECCOMP}),),
}


def is_allowed(mechanism: Mechanism) -> bool:
    """Return True if the user allows a mechanism; raise SandboxError if the variable is invalid."""
    return mechanism is Mechanism.LIMITS or (LINUX and mechanism not in _parse_forbidden(os.environ.get(FORBID, ""))[0])


def newest_landlock() -> int:
    """Return the newest version of the Landlock interface that the user allows."""
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
        version = int(word[len(NEWER) :]) if word[len(NEWER) :].isdecimal() else -1
    forbiddable = frozenset(Mechanism) - {Mechanism.LIMITS, Mechanism.SIGNALS}
    if kind != "without" or version < 0 or not forbiddable.issuperset(words):
        raise SandboxError(
            f"{FORBID} cannot be {text!r}: give 'limits', 'portable', or 'without:' and any of "
            f"{', '.join(sorted(forbiddable))}, {NEWER}5, separated by commas"
        )
    return frozenset(map(Mechanism, words)), version


def list_not_held(working: Iterable[Mechanism]) -> list[Guarantee]:
    """List the guarantees that these mechanisms do not give."""
    have = set(working)
    return [guarantee for guarantee, groups in HELD_BY.items() if not any(group <= have for group in groups)]
