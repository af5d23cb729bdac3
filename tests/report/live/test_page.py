"""The page: one script of modules that fit together, nothing parsed as HTML, small, and typed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from oragent.report.live.offline import MODULES, STATIC, VENDORED, escape_json, join_modules, make_page

TEXTS = {name: (STATIC / name).read_text(encoding="utf-8") for name in MODULES}


def test_names_of_all_modules_differ_so_that_they_can_be_joined() -> None:
    names = [
        name
        for text in TEXTS.values()
        for name in re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
    ]
    assert len(names) == len(set(names))


def test_modules_import_only_what_earlier_ones_export() -> None:
    for at, name in enumerate(MODULES):
        for names, source in re.findall(r"^import \{([^}]*)\} from \"\./([\w.]+)\";$", TEXTS[name], re.MULTILINE):
            assert source in MODULES[:at], f"{name} imports {source}, which is joined later"
            for imported in names.split(","):
                assert re.search(
                    rf"^export (?:async )?(?:function|const|class) {imported.strip()}\b", TEXTS[source], re.MULTILINE
                )
    assert "import " not in re.sub(r"//.*|/\*.*?\*/", "", join_modules())


def test_our_script_never_parses_text_as_html_or_code() -> None:
    for name, text in TEXTS.items():
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            'setAttribute("style"',
        ):
            assert word not in text, f"{name} uses {word}"


def test_sizes_and_licences() -> None:
    ours = sum(text.count("\n") for text in TEXTS.values())
    assert ours < 2500
    assert sum((STATIC / name).stat().st_size for name in VENDORED) < 1_500_000
    licences = (STATIC / "LICENSES.txt").read_text(encoding="utf-8")
    for name in ("uPlot", "jsdiff", "Prism"):
        assert name in licences


def test_the_page_names_no_other_host() -> None:
    page = make_page("n")
    addresses = set(re.findall(r"https?://[\w.]+", page)) - {"http://www.w3.org"}  # the name of SVG
    assert not {address for address in addresses if f'src="{address}' in page or f'href="{address}' in page}
    assert not re.search(r"@import|url\((?!data:)", page.split("</style>")[0])


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "a\u2028b", "%%NONCE%%", "&lt;"])
def test_data_in_the_page_end_no_element(text: str) -> None:
    page = make_page("n", {"text": text})
    assert page.count("</script>") == make_page("n").count("</script>")
    inside = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(inside) == {"text": text}
    assert json.loads(escape_json(text)) == text
    assert escape_json({"é": [1, 2]}) == '{"é":[1,2]}'
    with pytest.raises(ValueError):  # noqa: PT011
        escape_json(float("nan"))


def test_types_of_the_script(tmp_path: Path) -> None:
    """Where Node.js has the TypeScript compiler: JSDoc types hold."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("needs the TypeScript compiler, tsc")
    options = {"allowJs": True, "checkJs": True, "noEmit": True, "strict": True, "target": "ES2022", "module": "ES2022",
               "lib": ["ES2022", "DOM", "DOM.Iterable"], "types": []}  # fmt: skip
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": [str(STATIC / "app.js")]}))
    ended = subprocess.run([compiler, "-p", str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout
