"""Check the citations of a text or of a JSON list against the files of a workspace at a revision."""

from pathlib import Path

from oragent.workspace.citations import (
    CitedCell,
    CitedKey,
    CitedLine,
    ResolvedCitation,
    find_citations,
    read_citation_list,
    resolve_citation,
)
from oragent.workspace.reading import parse_json, read_text
from oragent.workspace.sources import FolderState
from oragent.workspace.verb_results import CitationInfo, CiteResult, Revision

# Maximum number of characters of a text with citations.
LARGEST = 4 << 20


def check_text(state: FolderState, path: Path) -> CiteResult:
    """Look up each citation of a text, or of a JSON list of objects.

    Raises:
        WorkspaceError: The file cannot be read, or is not a list.
    """
    text = read_text(path, LARGEST)
    if path.suffix.casefold() == ".json":
        citations = read_citation_list(parse_json(text, path))
    else:
        citations = find_citations(text)
    files = state.list_files()
    resolved = [resolve_citation(citation, files) for citation in dict.fromkeys(citations)]
    return CiteResult(
        ok=all(not one.reason for one in resolved),
        revision=Revision(name=state.revision, commit=state.commit),
        citations=tuple(_describe(one, state.commit) for one in resolved),
        warnings=() if resolved else ("the text has no citations",),
    )


def _describe(resolved: ResolvedCitation, commit: str) -> CitationInfo:
    citation = resolved.citation
    info = CitationInfo(
        text=str(citation), commit=commit, value=resolved.value, holds=not resolved.reason, reason=resolved.reason
    )
    fields: dict[str, object] = {}
    if isinstance(citation, CitedLine):
        fields = {"path": citation.path, "line": citation.number}
    elif isinstance(citation, CitedCell):
        fields = {
            "path": citation.path,
            "table": citation.sheet,
            "row": citation.row,
            "column": citation.column,
        }
    elif isinstance(citation, CitedKey):
        fields = {"path": citation.path, "keys": citation.keys}
    return info.model_copy(update=fields)
