"""Names of files and folders that are made from texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.files import file_stem
from oragent._base.plain import shorten


@given(st.text(max_size=100), st.sampled_from([None, 5, 60]), st.booleans())
def test_a_stem_is_one_part_of_a_path_without_dots_at_its_ends(text: str, limit: int | None, each: bool) -> None:
    stem = file_stem(text, "model", limit=limit, each=each)
    assert stem == stem.strip("-.") != ""
    assert all(letter.isalnum() or letter in "_.-" for letter in stem)
    assert stem == "model" or len(stem) <= (limit or len(text))
    assert file_stem(stem, "model", limit=limit, each=each) == stem


@pytest.mark.parametrize(
    ("text", "options", "stem"),
    [
        ("T-P-P aware, qwen:7b", {"each": True}, "T-P-P-aware--qwen-7b"),  # folders of benchmarks are found again by it
        ("T-P-P aware, qwen:7b", {}, "T-P-P-aware-qwen-7b"),
        ("Plan A (new)", {"allowed": "A-Za-z0-9_-", "filler": "_"}, "Plan_A_new"),
        ("v1.2", {"allowed": r"\w-"}, "v1-2"),
        ("../..", {"default": "problem"}, "problem"),
    ],
)
def test_stems_of_texts(text: str, options: dict[str, object], stem: str) -> None:
    assert file_stem(text, **options) == stem  # type: ignore[arg-type]


@given(st.text(max_size=30), st.integers(3, 30), st.sampled_from(["", "…", "..."]))
def test_a_text_is_shortened_to_a_width(text: str, width: int, mark: str) -> None:
    shortened = shorten(text, width, mark)
    assert len(shortened) <= width
    assert shortened == text if len(text) <= width else shortened.endswith(mark)
