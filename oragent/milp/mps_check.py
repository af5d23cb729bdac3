"""Check the structure of an MPS file line by line: HiGHS's reader skips lines that it does not understand."""

import re
from itertools import pairwise

from oragent._base.errors import MilpError
from oragent.milp.plain import quoted

ORDER = ("NAME", "OBJSENSE", "OBJSENSEMAX", "OBJSENSEMIN", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
NO_VALUE, WITH_VALUE = {"FR", "MI", "PL", "BV"}, {"UP", "LO", "FX", "LI", "UI", "SC"}
FIXED = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # columns of the fields in fixed form
NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)


def check_mps(text: str) -> None:
    """Refuse a damaged file, with the number and the content of the line.

    Sections that this check does not know, such as those of quadratic terms, are left to the reader.

    Raises:
        MilpError: A line is not what its section allows, a section is missing, or the end of the file is.
    """
    check = _MpsCheck()
    for number, line in enumerate(text.splitlines(), 1):
        if check.section == "ENDATA" or not line.strip() or line.startswith("*"):
            continue
        complaint = check.read_header(line) if not line[0].isspace() else check.read_line(line)
        if complaint:
            raise MilpError(f"line {number}: {complaint}: {quoted(line.strip())}; not a model in MPS form")
    if check.section != "ENDATA":
        raise MilpError("not a model in MPS form: the file ends before ENDATA, it is damaged or cut off")
    for section in ("ROWS", "COLUMNS"):
        if section not in check.sections:
            raise MilpError(f"not a model in MPS form: the section {section} is missing")


class _MpsCheck:
    """Sections, rows and columns read so far."""

    def __init__(self) -> None:
        self.section, self.sections = "", set[str]()
        self.rows, self.columns = set[str](), set[str]()

    def read_header(self, line: str) -> str:
        """Read a line that begins a section; return a complaint, or nothing."""
        word = line.split()[0].upper()
        if word not in ORDER and not word.isalpha():
            return "not a section"
        if word in ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS") and word in self.sections:
            return f"the section {word} begins twice"
        if word not in ORDER and word not in ("SOS", "QUADOBJ", "QSECTION", "QMATRIX", "QCMATRIX", "INDICATORS"):
            return "not a section"
        self.section = word
        self.sections.add(word)
        return ""

    def read_line(self, line: str) -> str:
        """Read a line of the current section; a complaint about its words counts if its fixed fields fail too."""
        check = {"ROWS": self._row, "COLUMNS": self._column, "RHS": self._side, "RANGES": self._side,
                 "BOUNDS": self._bound}.get(self.section)  # fmt: skip
        if not self.section:
            return "expected a section such as ROWS"
        if check is None:
            return ""
        complaint = check(line.split())
        between = "".join(line[end:start] for (_, end), (start, _) in pairwise(FIXED))
        if complaint and not between.strip():  # names with spaces are legal where columns are fixed
            fields = [line[start:end].strip() for start, end in FIXED]
            if not check([field for field in fields if field]):
                return ""
        return complaint

    def _row(self, words: list[str]) -> str:
        if len(words) != 2 or words[0].upper() not in ("N", "L", "G", "E"):
            return "expected N, L, G or E and the name of a row"
        if words[1] in self.rows:
            return "a second row of this name"
        self.rows.add(words[1])
        return ""

    def _column(self, words: list[str]) -> str:
        if len(words) >= 3 and words[1].strip("'\"").upper() == "MARKER":
            known = words[2].strip("'\"").upper() in ("INTORG", "INTEND", "SOSORG", "SOSEND")
            return "" if known else "expected INTORG or INTEND"
        if len(words) not in (3, 5):
            return "expected a column, and one or two rows with a number each"
        self.columns.add(words[0])
        return self._pairs(words[1:])

    def _side(self, words: list[str]) -> str:
        if not 2 <= len(words) <= 5:
            return "expected one or two rows with a number each"
        return self._pairs(words[len(words) % 2 :])

    def _pairs(self, words: list[str]) -> str:
        for name, value in zip(words[::2], words[1::2], strict=True):
            if name not in self.rows:
                return f"{quoted(name)} is not a row of this model"
            if not NUMBER.fullmatch(value):
                return f"{quoted(value)} is not a number"
        return ""

    def _bound(self, words: list[str]) -> str:
        kind, rest = words[0].upper(), words[1:]
        if kind not in NO_VALUE | WITH_VALUE:
            return "expected a kind of bound such as UP, LO, FX, FR, MI, PL or BV"
        has_value = bool(rest) and NUMBER.fullmatch(rest[-1]) is not None and len(rest) > 1
        names = [rest[-2] if has_value else "", rest[-1] if rest else ""]
        if kind in NO_VALUE:
            return "" if any(name in self.columns for name in names) else "not a column of this model"
        if not has_value:
            return "expected a column and a number"
        return "" if names[0] in self.columns else f"{quoted(names[0])} is not a column of this model"
