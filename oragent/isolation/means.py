"""What can hold a stranger's program, and what is held by which of it."""

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum

__all__ = ["FORBID", "HELD_BY", "Guarantee", "Means", "allowed", "not_held"]

FORBID = "ORAGENT_ISOLATION"  # set to "limits", nothing else is used: for tests, and where a means gives trouble


class Means(StrEnum):
    """A mechanism of the kernel that can be there or not."""

    LIMITS = "limits"
    IDENTITY = "identity"
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    CGROUPS = "cgroups"


class Guarantee(StrEnum):
    """What a candidate cannot do."""

    BOUNDED = "take more time, memory or output in its process than allowed"
    SCORED = "print, patch or forge its way to a score: the scorer never runs it"
    SECRETS = "inherit your environment or an open file"
    ALONE = "start processes of its own"
    UNTOUCHED = "change, create or delete a file"
    UNREAD = "read your files, other candidates or data that it is not given"
    OFFLINE = "open a network connection"
    UNSEEN = "see or signal another process"


# Each is held where all the means of any one group are at work on the candidate's process.
HELD_BY: Mapping[Guarantee, tuple[frozenset[Means], ...]] = {
    Guarantee.BOUNDED: (frozenset({Means.LIMITS}),),
    Guarantee.SCORED: (frozenset({Means.LIMITS}),),
    Guarantee.SECRETS: (frozenset({Means.LIMITS}),),
    Guarantee.ALONE: (frozenset({Means.SECCOMP}), frozenset({Means.IDENTITY})),
    Guarantee.UNTOUCHED: (frozenset({Means.LANDLOCK}), frozenset({Means.NAMESPACES})),
    Guarantee.UNREAD: (frozenset({Means.LANDLOCK}),),
    Guarantee.OFFLINE: (frozenset({Means.SECCOMP}), frozenset({Means.NAMESPACES})),
    Guarantee.UNSEEN: (frozenset({Means.NAMESPACES}), frozenset({Means.SECCOMP, Means.LANDLOCK})),
}


def allowed(means: Means) -> bool:
    """Whether the user lets us use a means at all."""
    return means is Means.LIMITS or os.environ.get(FORBID, "") != str(Means.LIMITS)


def not_held(working: Iterable[Means]) -> list[Guarantee]:
    """What these means do not keep a candidate from."""
    have = set(working)
    return [guarantee for guarantee, groups in HELD_BY.items() if not any(group <= have for group in groups)]
