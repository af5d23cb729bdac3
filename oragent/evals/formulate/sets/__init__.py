"""Sets of problems whose answers are known: seeded families of our own, and public ones from files."""

from pathlib import Path

from oragent._base.errors import ConfigError
from oragent.evals.formulate.sets.labelled import Label, Labelled, ProblemSet
from oragent.evals.formulate.sets.nl4opt import read_nl4opt
from oragent.evals.formulate.sets.other import family_set, read_complexor, read_optibench, read_table
from oragent.formulate.options import check_known

__all__ = ["FORMS", "Label", "Labelled", "ProblemSet", "read_set"]

FORMS = {"nl4opt": read_nl4opt, "complexor": read_complexor, "optibench": read_optibench}


def read_set(spec: str) -> ProblemSet:
    """Read a set by its name on the command line.

    Args:
        spec: ``families``, ``families=SIZE``, ``FORM=FILE`` with a form of ``FORMS``, or ``FILE.csv`` with the columns
            question and answer.

    Raises:
        ConfigError: No such set.
        ProblemError: The file is not what it should be.
    """
    name, equals, rest = spec.partition("=")
    if name == "families":
        return family_set(rest)
    if equals:
        return FORMS[check_known(name, FORMS, "set of problems")](Path(rest))
    if spec.endswith(".csv"):
        return read_table(Path(spec))
    raise ConfigError(f"{spec!r} is no set of problems: expected families, {', '.join(f'{n}=FILE' for n in FORMS)}, or "
                      "FILE.csv with the columns question and answer")  # fmt: skip
