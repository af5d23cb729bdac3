"""Documents in Word, e-mail and PDF are read as text and can be cited; JSON is data; tables are read only if used."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.sandbox import reading
from oragent.workspace import data_edits, documents
from oragent.workspace.cells import change_cells, read_change
from oragent.workspace.citations import check_citations
from oragent.workspace.data_edits import list_edits
from oragent.workspace.folder import WorkspaceFolder
from oragent.workspace.reading import decode_text, list_files
from oragent.workspace.records import hash_inputs
from tests.workspace.release import put

MAIL = (
    b"From: Petra <petra@example.org>\r\nSubject: =?utf-8?q?Bed=C3=A4rfe?=\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"H=C3=B6chstens 40 t.\r\n"
)


def word(*paragraphs: str) -> bytes:
    body = "".join(f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>' for text in paragraphs)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document><w:body>{body}</w:body></w:document>")
    return out.getvalue()


def test_documents_of_offices_are_texts_that_can_be_cited(tmp_path: Path) -> None:
    put(tmp_path, {"data/t.csv": "a,b\n1,2\n"})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.docx").write_bytes(word("Rules", "Ship at most 40 t &amp; no more."))
    (tmp_path / "docs/mail.eml").write_bytes(MAIL)
    assert decode_text(MAIL, "mail.eml").splitlines()[1:] == ["Subject: Bedärfe", "", "Höchstens 40 t."]
    assert WorkspaceFolder(tmp_path).find_flaws() == ()
    true = 'It is so [docs/rules.docx:2 "at most 40 t & no more"] [docs/mail.eml:4 "40 t"].'
    assert check_citations(true, list_files(tmp_path)) == ()
    assert len(check_citations('[docs/rules.docx:2 "at most 50 t"]', list_files(tmp_path))) == 1


def test_cells_of_a_table_in_word_are_separated_by_tabs_and_rows_by_lines() -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    row = f"<w:tr>{cell}{cell}</w:tr>"
    body = f"<w:tbl>{row.format('Paris', '40')}{row.format('Lyon', '7')}</w:tbl>"
    body += "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document><w:body>{body}</w:body></w:document>")
    lines = decode_text(out.getvalue(), "a.docx").rstrip("\n").split("\n")
    assert [line.rstrip("\t") for line in lines] == ["Paris\t40", "Lyon\t7", "one", "two\tthree"]


def test_a_text_document_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    content = word("at most 40 t")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = len(archive.read(documents.BODY))
    monkeypatch.setattr(documents, "MAX_TEXT", size)
    assert decode_text(content, "a.docx") == "at most 40 t\n"
    monkeypatch.setattr(documents, "MAX_TEXT", size - 1)
    with pytest.raises(WorkspaceError):
        decode_text(content, "a.docx")
    monkeypatch.setattr(documents, "MAX_TEXT", len(MAIL) - 8)
    assert decode_text(MAIL, "a.eml").endswith("\n\nHöchstens")


def test_a_mail_has_its_text_and_the_heads_that_it_has() -> None:
    plain = b"Content-Type: text/plain; charset=utf-8\r\n"
    assert decode_text(plain + b"\r\n40 t\r\n", "a.eml").strip() == "40 t"
    both = (
        b"To: a@example.org,\r\n b@example.org\r\nX-Other: 5\r\nContent-Type: multipart/alternative; boundary=B\r\n\r\n"
        b"--B\r\nContent-Type: text/html\r\n\r\n<p>41 t</p>\r\n--B\r\n" + plain + b"\r\n40 t\r\n--B--\r\n"
    )
    assert decode_text(both, "a.eml").split() == ["To:", "a@example.org,", "b@example.org", "40", "t"]
    lines = decode_text(b"Subject: x\r\n" + plain + b"\r\n40  t\r\n<b>or</b> 41\r\n", "a.eml").split("\n")
    assert lines == ["Subject: x", "", "40  t", "<b>or</b> 41", ""]
    assert decode_text(b"Subject: none\r\nContent-Type: image/png\r\n\r\nx", "a.eml").strip() == "Subject: none"
    with pytest.raises(WorkspaceError):
        decode_text(b"Content-Type: text/plain; charset=none\r\n\r\n40 t\r\n", "a.eml")


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>At most <b>5</b> t &lt; 6 &amp; more</p><p>next</p>", ["At most 5 t < 6 & more", "next"]),
        ("Limit 5<br/>12 trucks<BR>3", ["Limit 5", "12 trucks", "3"]),
        ("<table><tr><td>Paris</td><td>40</td></tr><tr><th>Lyon</th><td>7</td></tr></table>", ["Paris\t40", "Lyon\t7"]),
        (f"a<img src='{'x' * 5000}'>b", ["ab"]),
        ("<head><title>t</title></head><style>p { top: 9 }</style><!-- 8 --><script>var x = 7</script>6", ["6"]),
        ("one\r\ntwo <i>three</i>", ["one two three"]),
    ],
)  # fmt: skip
def test_mails_in_html_have_no_tags_and_keep_lines_apart(html: str, lines: list[str]) -> None:
    content = b"Subject: x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    assert decode_text(content, "mail.eml").rstrip("\n").split("\n") == ["Subject: x", "", *lines]


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        ("while True: pass", False),
        ("blocks = [bytearray(1 << 30) for _ in range(3)]", False),
        ("print('page 1')", True),
    ],
)
def test_the_process_that_reads_a_pdf_has_limits_of_time_and_memory(
    body: str, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that needs too much, and one that does not."""
    pytest.importorskip("pypdf")
    assert (documents.PDF_CPU_S <= 60, documents.PDF_MEMORY <= 4 << 30) == (True, True)
    monkeypatch.setattr(documents, "PDF_CPU_S", 1)
    monkeypatch.setattr(reading, "CHILD", body)
    if is_read:
        assert decode_text(b"%PDF-1.4", "a.pdf") == "page 1\n"
    else:
        with pytest.raises(WorkspaceError):
            decode_text(b"%PDF-1.4", "a.pdf")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit the address space")
def test_the_kernel_limits_the_process_that_reads_a_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process itself reports: the limits of PDF files, whatever those of other files are."""
    pytest.importorskip("pypdf")
    names = ["RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_CORE"]
    body = f"import resource; print(*(resource.getrlimit(getattr(resource, name))[0] for name in {names}))"
    monkeypatch.setattr(reading, "CHILD", body)
    cpu_s, memory, core = map(int, decode_text(b"%PDF-1.4", "a.pdf").split())
    assert documents.PDF_CPU_S <= cpu_s <= documents.PDF_CPU_S + 1
    assert (memory, core) == (documents.PDF_MEMORY, 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", b"PK\x03\x04broken"),
        ("a.docx", b"text"),
        ("a.pdf", b"%PDF-1.4 broken"),
        ("a.docx", word("x" * (9 << 20))),
    ],
)
def test_a_broken_document_is_refused_in_one_line(name: str, content: bytes) -> None:
    with pytest.raises(WorkspaceError, match=r"^a\.") as raised:
        decode_text(content, name)
    assert "\n" not in str(raised.value)


def test_a_pdf_is_read_page_by_page() -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(72, 72)
    out = io.BytesIO()
    writer.write(out)
    assert decode_text(out.getvalue(), "a.pdf").startswith("page 1\n")


def test_values_of_json_are_cells_with_edits_of_their_own() -> None:
    old = json.dumps({"demand": {"Paris": 40, "Lyon": [1, 2]}, "note": "x"}, indent=2).encode()
    new = change_cells(
        old, "d.json", [read_change("d.json[demand, Lyon, 1] = 2.5"), read_change("d.json[demand, Paris] = 44")]
    )
    assert json.loads(new) == {"demand": {"Paris": 44, "Lyon": [1, 2.5]}, "note": "x"}
    assert [(edit.row, edit.before, edit.after) for edit in list_edits({"d.json": old}, {"d.json": new})] == [
        ("demand, Paris", "40", "44"), ("demand, Lyon, 1", "2", "2.5")
    ]  # fmt: skip


def test_a_table_is_parsed_once_and_unused_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"data/t.csv": "name,b\nx,2\ny,3\n", "data/big.csv": "a\n" * 1000, "src/m.py": "1\n"})
    parsed = []
    plain = data_edits._parse_tables
    monkeypatch.setattr(data_edits, "_parse_tables", lambda path, content: parsed.append(path) or plain(path, content))
    text = " ".join(f"[data/t.csv, row {row}, column b = {value}]" for row, value in (("x", 2), ("y", 3), ("x", 2.0)))
    assert check_citations(text, list_files(tmp_path)) == ()
    assert parsed == ["data/t.csv"]
    files = list_files(tmp_path)
    before = hash_inputs(files, ("data/t.csv", "src/m.py"))
    assert set(before) == {"", "data/t.csv", "src/m.py"}
    (tmp_path / "data/big.csv").write_text("changed")
    assert hash_inputs(list_files(tmp_path), before) == before
    (tmp_path / "data/new.csv").write_text("a\n1\n")
    assert hash_inputs(list_files(tmp_path), before) != before
