"""The page of a person's conversation."""

from pathlib import Path

from oragent._base.errors import StoreError
from oragent._base.files import replace
from oragent.converse.session import ConversationSession
from oragent.converse.transcript import session_page


def write_page(session: ConversationSession) -> Path:
    """Write ``report.html`` into the folder of a conversation.

    Raises:
        StoreError: It cannot be written.
    """
    path = session.folder / "report.html"
    try:
        replace(path, session_page(session.problem, session.request.agent, session.turns))
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}") from None
    return path
