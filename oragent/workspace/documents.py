"""Text of Word, PDF and e-mail documents.

A confined child process with limits on time and memory reads PDF files with ``pypdf``.
"""

import email
import email.policy
import importlib.util
import io
import re
import zipfile
from html import unescape

from oragent._base.errors import WorkspaceError
from oragent.sandbox.reading import read_in_child

FORMATS = (".docx", ".pdf", ".eml")
# Maximum bytes of the text of a document.
MAX_TEXT = 8 << 20
# CPU seconds and bytes of private memory of the process that reads a PDF.
PDF_CPU_S, PDF_MEMORY = 20, 1 << 30
BODY = "word/document.xml"
TOKEN = re.compile(r"<w:t(?: [^>]*)?>(?P<text>[^<]*)</w:t>|(?P<tab><w:tab/>|</w:tc>)|(?P<line></w:p>|<w:br/>|</w:tr>)")
HEADERS = ("From", "To", "Cc", "Date", "Subject")
# Elements without text for readers, and ends of lines and cells in HTML.
UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(style|script|head)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
LINE_END = re.compile(r"<br\b[^<>]*>|</(?:p|div|tr|li|h\d)\s*>", re.IGNORECASE)
CELL_END = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")


def document_text(content: bytes, suffix: str) -> str | None:
    """Return the text of a document, or None if the format is plain text."""
    if suffix == ".docx":
        return _word_text(content)
    if suffix == ".pdf":
        return _pdf_text(content)
    if suffix == ".eml":
        return _mail_text(content)
    return None


def _word_text(content: bytes) -> str:
    """Return the text of a Word document, one line per paragraph; tabs separate the cells of a table."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(BODY) as member:
            body = member.read(MAX_TEXT + 1)
    except (zipfile.BadZipFile, KeyError, RuntimeError, OSError, NotImplementedError, EOFError):
        raise WorkspaceError("cannot be read as a Word document; save it again as .docx, or as plain text") from None
    if len(body) > MAX_TEXT:
        raise WorkspaceError(f"has more than {MAX_TEXT >> 20} MiB of text; split it")
    parts = []
    for token in TOKEN.finditer(body.decode("utf-8", "replace")):
        if token["text"] is not None:
            parts.append(unescape(token["text"]))
        else:
            parts.append("\n" if token["line"] else "\t")
    return re.sub(r"\n\t", "\t", "".join(parts))


def _mail_text(content: bytes) -> str:
    """Return the main headers of an e-mail, and its text."""
    message = email.message_from_bytes(content[:MAX_TEXT], policy=email.policy.default)
    body = message.get_body(("plain", "html"))
    try:
        text = "" if body is None else str(body.get_content())
    except (LookupError, UnicodeError, KeyError, ValueError):
        raise WorkspaceError("is an e-mail in an unknown encoding; save its text") from None
    if body is not None and body.get_content_type() == "text/html":
        text = _html_text(text)
    heads = [f"{name}: {' '.join(str(message[name]).split())}" for name in HEADERS if message[name]]
    if heads:
        return "\n".join([*heads, "", text.replace("\r\n", "\n")])
    return text


def _html_text(html: str) -> str:
    """Return the text of HTML, a line for each paragraph and row of a table; tabs separate cells."""
    text = " ".join(UNSEEN.sub("", html).split())
    text = TAG.sub("", CELL_END.sub("\t", LINE_END.sub("\n", text)))
    return "\n".join(line.strip() for line in unescape(text).split("\n"))


def _pdf_text(content: bytes) -> str:
    if importlib.util.find_spec("pypdf") is None:
        raise WorkspaceError("is a PDF: install pypdf ('pip install pypdf'), or save its text")
    reader = "oragent.workspace.documents:pages_text"
    try:
        text = read_in_child(reader, content, ".pdf", WorkspaceError, cpu_s=PDF_CPU_S, memory=PDF_MEMORY)
    except WorkspaceError as problem:
        raise WorkspaceError(f"is a PDF that cannot be read ({problem}); save its text") from None
    return text[:MAX_TEXT].decode("utf-8", "replace")


def pages_text(content: bytes, form: str) -> str:
    """Return the text of a PDF, page by page."""
    import pypdf

    pages = pypdf.PdfReader(io.BytesIO(content)).pages
    return "".join(f"page {number}\n{page.extract_text()}\n" for number, page in enumerate(pages, 1))
