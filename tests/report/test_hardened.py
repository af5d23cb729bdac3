"""Outcomes of unusual arguments in a run's folder and in the header of its best program."""

from pathlib import Path

from oragent.evaluation.hardening import CASES, CaseOutcome, HardenedCase, HardenedProgram
from oragent.report.hardened import harden_best, read_hardened, write_head_line
from oragent.search.program_header import drop_head

PROGRAM = "WINDOW = 3\n\n\ndef guess(x):\n    return WINDOW\n"


def outcomes(reason: str) -> HardenedProgram:
    cases = [HardenedCase(name, CaseOutcome.PASSED, "", 0.1) for name in CASES[1:]]
    return HardenedProgram((HardenedCase(CASES[0], CaseOutcome.FAILED, reason, None), *cases), 8, 1.0)


def test_outcomes_stay_with_the_program_and_go_into_its_header_once(tmp_path: Path) -> None:
    best = tmp_path / "best.py"
    best.write_text(f"# toy: 1 by candidate 1.0 of run\n#| limits: 20\n#| idea: closer\n{PROGRAM}")
    assert read_hardened(tmp_path) is None
    for reason in ("it hangs " * 30, "it raises"):
        harden_best(tmp_path, lambda source, reason=reason: outcomes(reason.strip()))
    text = best.read_text()
    assert drop_head(text) == PROGRAM
    assert text.count("harden:") == 1
    assert "hangs" not in text
    assert "#| idea: closer" in text
    kept = read_hardened(tmp_path)
    assert kept == outcomes("it raises")
    best.write_text(text.replace("WINDOW = 3", "WINDOW = 4"))
    assert read_hardened(tmp_path) is None


def test_a_broken_file_of_outcomes_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text(PROGRAM)
    for text in ("", "program: 3", "[1, 2]", "program: x\ncases: 7"):
        (tmp_path / "harden.yaml").write_text(text)
        assert read_hardened(tmp_path) is None


def test_a_program_without_a_header_gets_a_comment(tmp_path: Path) -> None:
    text = write_head_line(PROGRAM, "harden: all pass")
    assert text == f"#| harden: all pass\n{PROGRAM}"


def test_only_the_line_with_the_same_label_is_replaced_with_its_continuation() -> None:
    head = (
        "# toy: 1\n#| limits: a\n#|   limits go on\n#| harden: old\n#|   old goes on\n#| idea: b\n#|   idea goes on\n"
    )
    text = write_head_line(head + PROGRAM, "harden: new")
    lines = text.removesuffix(PROGRAM).splitlines()
    assert lines == [
        "# toy: 1", "#| limits: a", "#|   limits go on", "#| idea: b", "#|   idea goes on", "#| harden: new",
    ]  # fmt: skip
