"""The taxonomy of revisions, as rules; the release's own labels follow them in part."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.domains.domain import Depth, Diff, RevisionOperation
from oragent.workspace.reading import shorten
from tests.workspace.release import PUBLIC, needs_release

REMARK = re.compile(r"\([^()]*\)")  # as in +1var(z)
SUMMARIES = {
    RevisionOperation.ADD_VARIABLE: re.compile(r"\+([0-9]+)var(?:_[a-z]+)?"),
    RevisionOperation.REMOVE_VARIABLE: re.compile(r"-([0-9]+)var(?:_[a-z]+)?"),
    RevisionOperation.ADD_CONSTRAINT: re.compile(r"\+([0-9]+)constr"),
    RevisionOperation.REMOVE_CONSTRAINT: re.compile(r"-([0-9]+)constr"),
    RevisionOperation.MODIFY_CONSTRAINT: re.compile(r"mod_([0-9]+)constr"),
    RevisionOperation.MODIFY_OBJECTIVE: re.compile(r"mod_([0-9]*)obj"),
    RevisionOperation.MODIFY_DATA: re.compile(r"mod_([0-9]+)data"),
}


def read_summary(summary: str) -> Diff:
    """Read a diff as the release sums it up: ``+4var_binary, -2constr, mod_5constr, mod_obj, mod_3data``."""
    counts = dict.fromkeys(RevisionOperation, 0)
    for part in filter(None, (piece.strip() for piece in REMARK.sub("", summary).split(","))):
        matches = [(change, match) for change, form in SUMMARIES.items() if (match := form.fullmatch(part))]
        if not matches:
            raise WorkspaceError(
                f"{shorten(part)!r} is no operation; expected such as +2var, -1constr, mod_obj, mod_1data"
            )
        change, match = matches[0]
        counts[change] += int(match[1] or 1)
    return Diff(counts)


def test_a_summary_is_counted_by_kind() -> None:
    diff = read_summary("+4var_binary, +20var_int, +9constr, -2constr, mod_5constr, mod_obj, mod_3data")
    assert diff.counts == {
        RevisionOperation.ADD_VARIABLE: 24, RevisionOperation.REMOVE_VARIABLE: 0, RevisionOperation.ADD_CONSTRAINT: 9, RevisionOperation.REMOVE_CONSTRAINT: 2,
        RevisionOperation.MODIFY_CONSTRAINT: 5, RevisionOperation.MODIFY_OBJECTIVE: 1, RevisionOperation.MODIFY_DATA: 3,
    }  # fmt: skip
    assert (diff.operation_count, diff.kind_count, diff.is_coupled, diff.is_cascading) == (44, 5, True, True)
    assert diff.depth is Depth.L5


def test_the_five_levels_are_in_order() -> None:
    assert [depth.value for depth in Depth] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("summary", "depth", "coupling", "cascading"),
    [
        ("", Depth.L1, False, False),
        ("mod_1data", Depth.L1, False, False),
        ("mod_obj", Depth.L1, False, False),
        ("mod_2data", Depth.L2, False, False),
        ("mod_3data", Depth.L3, False, False),
        ("+1constr, mod_obj", Depth.L3, False, False),
        ("+1var(z), +2constr(z=y, all weeks)", Depth.L3, True, False),
        ("+1var, +3constr", Depth.L4, True, False),
        ("+1var, +1constr, mod_obj", Depth.L4, True, False),
        ("-1var, +4constr", Depth.L5, True, True),
        ("+1constr, -1constr", Depth.L3, False, True),
        ("+1var, mod_3constr", Depth.L4, True, True),
        ("+1var, mod_4constr", Depth.L5, True, True),
        ("+1var, -1var, +1constr, -1constr", Depth.L5, True, True),
    ],
)
def test_each_level_has_its_rule(summary: str, depth: Depth, coupling: bool, cascading: bool) -> None:
    diff = read_summary(summary)
    assert (diff.depth, diff.is_coupled, diff.is_cascading) == (depth, coupling, cascading)


@given(
    st.dictionaries(st.sampled_from(list(RevisionOperation)), st.integers(0, 6)),
    st.sampled_from(list(RevisionOperation)),
)
def test_one_more_operation_never_makes_a_revision_shallower(
    counts: dict[RevisionOperation, int], change: RevisionOperation
) -> None:
    more = counts | {change: counts.get(change, 0) + 1}
    assert Diff(more).depth >= Diff(counts).depth


def test_what_is_no_summary_is_refused() -> None:
    with pytest.raises(WorkspaceError, match="'2 vars' is no operation"):
        read_summary("+1var, 2 vars")
    with pytest.raises(WorkspaceError, match="negative"):
        Diff({RevisionOperation.ADD_VARIABLE: -1})


@needs_release
def test_the_release_s_labels_follow_the_rules_in_part() -> None:
    told = []
    for number in range(1, 101):
        path = PUBLIC / "Workspace_OR" / "revise_workspaces" / f"instance_{number}" / "metadata.json"
        told.append(json.loads(path.read_text()).get("metadata", {}).get("diff"))
    diffs = [diff for diff in told if diff]
    assert len(diffs) == 96
    assert {diff["complexity_level"] for diff in diffs} == {"L5"}
    read = [read_summary(diff["diff_summary"]) for diff in diffs]
    assert sum(one.depth is Depth.L5 for one in read) == 92
    assert sum(one.kind_count == diff["distinct_ops"] for one, diff in zip(read, diffs, strict=True)) == 41
    # 67 where variables with their kind, as in +4var_binary, are not counted.
    assert sum(one.operation_count == diff["op_count"] for one, diff in zip(read, diffs, strict=True)) == 68
