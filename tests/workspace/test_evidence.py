"""A judge gets every file of both versions, in a fixed order; evidence is refused rather than cut."""

from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.importing import Release, read_release
from oragent_benchmarks.workspace.judging import LIMIT, gather_evidence
from tests.workspace.release import PUBLIC, needs_release, synthetic


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return read_release(synthetic(tmp_path, 1, programs=True))


def test_all_of_both_versions_is_there_and_documents_come_first(release: Release) -> None:
    workspace = release.workspaces[Mode.EXPLAIN, 1]
    text = gather_evidence(workspace)
    headings = [line.removeprefix("=== ") for line in text.split("\n") if line.startswith("=== ")]
    assert sorted(headings) == sorted(set(workspace.files) - {"metadata.json"})
    assert headings[0] == "original/docs/business_requirement.md"
    assert headings[-1] == "revised/solver_records/bread.solution.json"
    assert all(workspace.files[path].read_text() in text for path in headings)


def test_too_much_evidence_is_refused_and_never_cut(release: Release) -> None:
    workspace = release.workspaces[Mode.EXPLAIN, 1]
    whole = gather_evidence(workspace)
    assert gather_evidence(workspace, len(whole)) == whole
    with pytest.raises(WorkspaceError, match=f"has {len(whole)} characters, .* the most; expected at most"):
        gather_evidence(workspace, len(whole) - 1)
    workspace.files["revised/logs/solver_output.log"].write_text("x" * LIMIT)
    with pytest.raises(WorkspaceError, match=r"revised/logs/solver_output\.log the most; expected at most 1000000"):
        gather_evidence(workspace)


def test_only_questions_have_evidence(release: Release) -> None:
    with pytest.raises(WorkspaceError):
        gather_evidence(release.workspaces[Mode.BUILD, 1])


@pytest.mark.slow
@needs_release
def test_all_evidence_of_the_release_fits() -> None:
    questions = read_release(PUBLIC).of_mode(Mode.EXPLAIN)
    assert all(0 < len(gather_evidence(workspace)) <= LIMIT for workspace in questions.values())
