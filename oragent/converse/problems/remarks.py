"""What an answer about schools states, held against the schedules and the model: figures, and what is not possible."""

from collections.abc import Iterator, Sequence

from oragent.converse.problems import claims, faithfulness
from oragent.converse.problems.claims import ClaimVerdict
from oragent.converse.problems.constraints import FREE, Constraints
from oragent.converse.problems.district import District
from oragent.converse.problems.exact import Solving
from oragent.converse.problems.faithfulness import Truth
from oragent.converse.remark import AnswerRemark, ClaimStatus, RemarkKind

STANDINGS = {Truth.FALSE: ClaimStatus.FALSE, Truth.UNCHECKED: ClaimStatus.UNKNOWN}


def figure_remarks(
    district: District, text: str, presented: Sequence[str], earlier: Sequence[str]
) -> Iterator[AnswerRemark]:
    """Every figure of an answer."""
    for stated in faithfulness.check_figures(district, text, presented, tuple(earlier)):
        standing = STANDINGS.get(stated.truth, ClaimStatus.TRUE)
        yield AnswerRemark(RemarkKind.FIGURE, standing, f"{stated.told}: {stated.sentence}")


def claim_remarks(oracle: Solving, text: str, in_force: Constraints | None, incumbent: str) -> Iterator[AnswerRemark]:
    """Every claim that something is not possible, solved again.

    Args:
        oracle: Oracle of the district.
        text: Text of the answer.
        in_force: Constraints in force when it was given; None where nobody knows.
        incumbent: Schedule shown last before it.
    """
    features = oracle.district.features(incumbent)
    for claim in claims.find_claims(oracle.district, text):
        resolved = claims.resolve_claim(claim, oracle, in_force or Constraints(), features)
        # Without a state nobody knows what "these constraints" are; what a sentence names itself can be solved.
        unknown = in_force is None and claim.constraints == FREE and resolved.verdict is ClaimVerdict.FALSE
        if resolved.verdict is ClaimVerdict.UNPARSED or unknown:
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, ClaimStatus.UNKNOWN, claim.sentence)
        else:
            shown = f" ({resolved.witness.schedule}, {resolved.witness.features})" if resolved.witness else ""
            standing = ClaimStatus.FALSE if resolved.verdict is ClaimVerdict.FALSE else ClaimStatus.TRUE
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, standing, claim.sentence + shown)
