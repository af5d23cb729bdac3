"""Decision problems by their names on the command line."""

import re

from oragent._base.errors import ConfigError, ProblemError
from oragent.modelling.data.indexed import IndexedModel
from oragent_benchmarks.converse.problems.district_model import district_model
from oragent_benchmarks.converse.problems.schools import Schools, generate_district, sfusd

# Forms of problem names.
NAMES = "sfusd, district:SCHOOLS:TIMES[:SEED]"
# Problem of the published comparison.
PUBLISHED = "sfusd"
DISTRICT = re.compile(r"district:(\d{1,6}):(\d{1,6})(?::(\d{1,9}))?")


def is_named(spec: str) -> bool:
    """Return True if a command-line argument is a problem name and not a file."""
    return spec == PUBLISHED or spec.startswith("district")


def open_problem(spec: str) -> Schools:
    """Open the decision problem of a name: ``sfusd`` or ``district:N:TIMES[:SEED]``.

    Raises:
        OragentError: The name is unknown.
    """
    if spec == PUBLISHED:
        return sfusd()
    if spec.startswith("district"):
        district_match = DISTRICT.fullmatch(spec)
        if district_match is None:
            raise ConfigError(f"{spec[:80]!r} is no district: expected district:SCHOOLS:TIMES, such as district:50:3")
        return generate_district(int(district_match[1]), int(district_match[2]), int(district_match[3] or 0))
    raise ProblemError(f"no decision problem {spec[:80]!r}: expected one of {NAMES}")


def open_named_model(spec: str) -> IndexedModel:
    """Open the model of a name, for a conversation about it.

    Raises:
        OragentError: The name is unknown.
    """
    return district_model(open_problem(spec).district)
