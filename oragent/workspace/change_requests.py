"""Change requests: files in ``requests/`` with a status. They are not documents of the model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import read_text, shorten_path

FOLDER = "requests"
FORM = re.compile(r"---\nstatus: *(?P<status>\w+) *\n---\n\n?(?P<text>.*)", re.DOTALL)


class RequestStatus(StrEnum):
    """Status of a request."""

    OPEN = "open"
    # The revision was written, and the requirement now contains the change.
    DONE = "done"
    # The revision was not written.
    REFUSED = "refused"


@dataclass(frozen=True)
class ChangeRequest:
    """Request for a change."""

    path: str
    status: RequestStatus
    text: str

    def render(self) -> str:
        """Return the content of its file."""
        return f"---\nstatus: {self.status}\n---\n\n{self.text.rstrip()}\n"


def list_requests(files: Mapping[str, Path]) -> list[ChangeRequest]:
    """Return the requests among some files. A request without a status is open."""
    requests = []
    for path, file in files.items():
        if path.startswith(f"{FOLDER}/") and path.endswith(".md"):
            requests.append(read_request(path, read_text(file)))
    return requests


def read_request(path: str, content: str) -> ChangeRequest:
    """Read the file of a request.

    Raises:
        WorkspaceError: The status is unknown.
    """
    match = FORM.fullmatch(content.replace("\r\n", "\n"))
    if match is None:
        return ChangeRequest(path, RequestStatus.OPEN, content)
    if match["status"] not in set(RequestStatus):
        expected = ", ".join(RequestStatus)
        raise WorkspaceError(f"{shorten_path(path)} has the status {match['status']!r}; expected {expected}")
    return ChangeRequest(path, RequestStatus(match["status"]), match["text"])
