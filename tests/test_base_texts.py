"""Encodings, JSON documents, figures in sentences, and templates of prompts, against their definitions."""

import enum
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.documents import MAX_MESSAGE, describe_error, dump_json, to_plain
from oragent._base.errors import ConfigError, StoreError, UntrustedError
from oragent._base.figures_in_text import find_figures
from oragent._base.prompt_templates import PromptFolder
from oragent._base.text_decoding import SAMPLE, decode_leniently, find_encoding

# Encodings.

LATIN = st.text("aäöüßé€ xyz\n", min_size=1)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_a_text_in_unicode_is_read_as_it_was_written(text: str) -> None:
    assert decode_leniently(text.encode()) == text
    for encoding in ("utf-8-sig", "utf-16"):
        assert decode_leniently(text.encode(encoding)) == text


@given(st.text("abc xyz,;0123\n", min_size=1, max_size=50))
def test_plain_letters_in_utf_16_need_no_mark(text: str) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        assert find_encoding(text.encode(encoding)) == encoding


@given(LATIN)
def test_other_texts_are_windows_1252(text: str) -> None:
    content = f"é{text}é ".encode("cp1252")
    assert (find_encoding(content), decode_leniently(content)) == ("cp1252", f"é{text}é ")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "utf-8"), (b"\xff\x81", ""), (b"\xe9\x01", ""), (b"a\0b", ""), (b"\0\0\0\0", ""), (b"\xff\xfe\0", ""), (b"\xef\xbb\xbf\xff", ""),
        # Four of ten high bytes are zero, or more.
        ("ab日本語".encode("utf-16-le"), ""), ("ab日本".encode("utf-16-le"), "utf-16-le"), ("abcd日本語日本語".encode("utf-16-be"), ""),
        # Zeros are counted in a sample.
        (b"a\0" * (SAMPLE // 2) + "語".encode("utf-16-le") * SAMPLE, "utf-16-le"),
    ],
)  # fmt: skip
def test_binary_content_has_no_encoding(content: bytes, encoding: str) -> None:
    assert find_encoding(content) == encoding
    decode_leniently(content)


# Documents.


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Shown:
    name: str
    values: tuple[float, ...] = (1.0, math.nan)
    hidden: int = field(default=1, repr=False)
    _private: int = 2


class Dumped:
    def model_dump(self, mode: str) -> object:
        return {"mode": mode, "at": Path("a")}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Shown("x"), {"name": "x", "values": [1.0, None]}), (Dumped(), {"mode": "json", "at": "a"}), (Colour.RED, "red"), ({1: {2}}, {"1": [2]}),
        (np.array([[1.5], [np.inf]]), [[1.5], [None]]), (np.float64(2.5), 2.5), (np.int64(3), 3), (True, True), (None, None), (10**30, 10**30),
        (-math.inf, None), (Path("a") / "b", "a/b"), (("é", b"x"), ["é", [120]]), (Shown, str(Shown)), (1 + 2j, "(1+2j)"), ({"a": iter}, {"a": str(iter)}),
    ],
)  # fmt: skip
def test_values_are_plain_data(value: object, plain: object) -> None:
    assert to_plain(value) == plain
    assert json.loads(dump_json(value)) == plain


def test_a_document_is_one_short_line_in_any_language() -> None:
    assert dump_json({"a": ["é", 1.0]}) == '{"a":["é",1.0]}'


@pytest.mark.parametrize(
    ("problem", "code", "is_bug"),
    [(StoreError("x"), "StoreError", False), (FileNotFoundError("x"), "OSError", False), (KeyError("x"), "InternalError", True)],
)  # fmt: skip
def test_an_error_is_named_with_advice(problem: Exception, code: str, is_bug: bool) -> None:
    error = describe_error(problem)["error"]
    assert isinstance(error, dict)
    assert (error["code"], "bug" in str(error["advice"])) == (code, is_bug)
    # The most special class decides.
    assert "--trust" in str(describe_error(UntrustedError("x")))
    long = describe_error(StoreError("a\n\x1b" + "b" * 3000))["error"]
    assert isinstance(long, dict)
    assert str(long["message"]).startswith("a \\u001bb")
    assert len(str(long["message"])) == MAX_MESSAGE


# Figures.


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_figures_are_read_with_either_mark(whole: int, cents: int) -> None:
    point = f"{whole:,}.{cents:02}"
    comma = point.replace(",", "x").replace(".", ",").replace("x", ".")
    for text in (point, comma, f"from {comma} to"):
        assert whole + cents / 100 in {round(figure, 2) for figure in find_figures(text)}


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("Twenty five", {20, 5, 25, 100}), ("three hundred", {3, 100, 103, 300}), ("two thirds", {2, 2 / 3, 2 + 1 / 3}), ("three quarters", {3, 0.75, 3.25}),
        ("3/4 of 8", {3, 4, 0.75, 8}), ("1/0", {1, 0}), (".5 or 12", {0.5, 12}), ("once and twice", {1, 2}), ("nothing", set()), ("a half", {0.5}),
        ("ninety nine red", {90, 9, 99, 810}), ("1,2,3", {1, 2, 3}),
    ],
)  # fmt: skip
def test_figures_in_digits_words_and_fractions(text: str, figures: set[float]) -> None:
    assert sorted(find_figures(text)) == pytest.approx(sorted(figures))


# Templates.


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PromptFolder:
    """A package with three wordings."""
    package = f"prompts_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / package / "prompts"
    folder.mkdir(parents=True)
    (tmp_path / package / "__init__.py").write_text("")
    (folder / "ask.txt").write_text("\nAsk $what of $whom.\n")
    (folder / "ask.strong.txt").write_text("Ask $what.")
    (folder / "tell.txt").write_text("Tell.")
    (folder / "notes.md").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield PromptFolder(package)
    sys.modules.pop(package, None)


def test_a_template_has_wordings_by_style(prompts: PromptFolder) -> None:
    assert prompts.fill("ask", what=3, whom="$what") == "Ask 3 of $what."
    assert prompts.fill("ask", "strong", what=3) == "Ask 3."
    assert prompts.fill("ask", "weak", what=3, whom="x") == "Ask 3 of x."
    assert prompts.fill("tell", "strong", {"ask": "x"}) == "Tell."
    assert prompts.fill("ask", "strong", {"ask": "Own $what."}, what=1) == "Own 1."
    assert prompts.fill("ask", "strong", {"ask": "Own.", "ask.strong": "Strong."}) == "Strong."
    with pytest.raises(KeyError):
        prompts.fill("ask", what=3)
    assert prompts.list_names() == ["ask", "ask.strong", "tell"]
    assert prompts.list_placeholders("ask.strong") == ({"what", "whom"}, {"what"})


@pytest.mark.parametrize(
    ("name", "text", "is_read"),
    [
        ("ask.txt", "Own $what.", True), ("ask.txt", "Own $what and $whom.", True), ("ask.txt", "# without $what\nOwn.", True), ("tell.txt", "$$ 5", True),
        ("ask.txt", "Own.", False), ("ask.txt", "Own $what and $x.", False), ("ask.txt", "# without $x\nOwn $what.", False), ("ask.txt", "Own $what for $ 5.", False),
        ("aks.txt", "Own $what.", False), ("ask.md", "Own $what.", False),
    ],
)  # fmt: skip
def test_own_templates_have_the_placeholders_of_those_that_they_replace(
    name: str, text: str, is_read: bool, prompts: PromptFolder, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    with pytest.raises(ConfigError):
        prompts.read_own(folder)
    folder.mkdir()
    (folder / name).write_text(text)
    if is_read:
        assert prompts.read_own(folder) == {name.removesuffix(".txt"): text.removeprefix("# without $what\n")}
        return
    with pytest.raises(ConfigError) as caught:
        prompts.read_own(folder)
    assert "\n" not in str(caught.value)
    assert ("nearest is ask" in str(caught.value)) is (name == "aks.txt")
