"""What an answer about schools states, held against the schedules and the model: figures, and what is not possible."""

from collections.abc import Iterator, Sequence

from oragent.converse.problems import claims, faithfulness
from oragent.converse.problems.claims import ClaimVerdict
from oragent.converse.problems.constraints import FREE, Constraints
from oragent.converse.problems.district import District
from oragent.converse.problems.faithfulness import Truth
from oragent.converse.problems.oracle import Solving
from oragent.converse.remark import AnswerRemark, ClaimStatus, RemarkKind

STANDINGS = {Truth.FALSE: ClaimStatus.FALSE, Truth.UNCHECKED: ClaimStatus.UNKNOWN}


def figures(district: District, text: str, presented: Sequence[str], earlier: Sequence[str]) -> Iterator[AnswerRemark]:
    """Every figure of an answer."""
    for one in faithfulness.figures(district, text, presented, tuple(earlier)):
        standing = STANDINGS.get(one.truth, ClaimStatus.TRUE)
        yield AnswerRemark(RemarkKind.FIGURE, standing, f"{one.told}: {one.sentence}")


def impossible(oracle: Solving, text: str, in_force: Constraints | None, incumbent: str) -> Iterator[AnswerRemark]:
    """Every claim that something is not possible, solved again.

    Args:
        oracle: Oracle of the district.
        text: Text of the answer.
        in_force: Constraints in force when it was given; None where nobody knows.
        incumbent: Schedule shown last before it.
    """
    features = oracle.district.features(incumbent)
    for one in claims.claims(oracle.district, text):
        done = claims.resolve(one, oracle, in_force or Constraints(), features)
        # Without a state nobody knows what "these constraints" are; what a sentence names itself can be solved.
        unknown = in_force is None and one.constraints == FREE and done.verdict is ClaimVerdict.FALSE
        if done.verdict is ClaimVerdict.UNPARSED or unknown:
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, ClaimStatus.UNKNOWN, one.sentence)
        else:
            shown = f" ({done.witness.schedule}, {done.witness.features})" if done.witness else ""
            standing = ClaimStatus.FALSE if done.verdict is ClaimVerdict.FALSE else ClaimStatus.TRUE
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, standing, one.sentence + shown)
