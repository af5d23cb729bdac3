"""Texts in a business writer's words: taken only where nothing is lost and the verifier reaches the optimum."""

import io
from collections import Counter
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.evals.workspace.business_text import lost
from oragent.evals.workspace.generate_command import generate_command
from oragent.evals.workspace.generating import sets
from oragent.evals.workspace.generating.making import Made
from oragent.evals.workspace.generating.programs import program
from oragent.evals.workspace.generating.wording import Writing, beside
from oragent.evals.workspace.label_sets import VAULT
from oragent.llm.model import Reply, Request

WANTED = sets.GenerateRequest(("knapsack",), 1, 3)


class Writer:
    """A model of all roles; its writer forgets a number at first, and may go on to speak of modelling."""

    def __init__(self, one: Made, *, models: bool = False, wrong: str = "", lives: int = 1000) -> None:
        self._one, self._models, self._wrong, self.lives = one, models, wrong, lives
        self.asked: Counter[str] = Counter()

    async def __call__(self, request: Request, /) -> Reply:
        if not self.lives:
            raise WorkspaceError("the server is gone")
        self.lives -= 1
        self.asked[request.role] += 1
        return Reply(self._said(request), tokens_in=1, tokens_out=1, money=0.0, seconds=0.0, model="scripted")

    def _said(self, request: Request) -> str:
        role, one = request.role, self._one
        if role == "specifier":
            return "Choose what to carry."
        if role == "writer":
            note = request.messages[0].content.partition("The note:\n")[2]
            if self.asked["writer"] == 1:
                return "Carry what you like."
            return f"Good morning,\n\n{note}\n{'Subject to all this, thank you.' if self._models else 'Thank you.'}"
        revised = role == "model_reviser" or (role == "verifier" and "## What changes" in request.messages[0].content)
        source = program(one.milp, one.title, one.revised.patch if revised else None)
        return f"```python\n{'print(1)' if role == self._wrong else source}```"


def documents(out: Path) -> str:
    return "".join(path.read_text() for path in sorted(out.glob("views/*build/docs/*")))


@pytest.fixture(scope="module")
def mechanical(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Path]:
    out = tmp_path_factory.mktemp("mechanical") / "set"
    (made,) = sets.generate(WANTED, out)
    return made, out


@pytest.mark.slow
def test_texts_are_rewritten_cut_off_gone_on_with_and_replayed(mechanical: tuple[Made, Path], tmp_path: Path) -> None:
    one, plain = mechanical
    out, first = tmp_path / "set", Writer(one, lives=4)
    with pytest.raises(WorkspaceError, match="the same command goes on"):
        sets.generate(WANTED, out, writing=Writing(asked=first))
    assert not out.exists()
    second = Writer(one)
    second.asked["writer"] = 1
    sets.generate(WANTED, out, writing=Writing(asked=second))
    assert dict(second.asked - Counter(writer=1)) == {"writer": 2, "verifier": 2}  # nothing is asked twice
    assert documents(out).startswith("Good morning")
    assert lost(documents(plain), documents(out)) == ()
    assert not beside(out).exists()
    console = Terminal(file=io.StringIO())
    again = tmp_path / "again"
    assert generate_command(["knapsack"], 1, 3, again, console, Writing(replay=out)) == 0
    assert documents(again) == documents(out)
    labels = [path for path in (out / VAULT).rglob("*") if path.suffix in (".csv", ".json", ".jsonl")]
    assert len(labels) > 3
    for path in labels:
        assert path.read_text() == (again / path.relative_to(out)).read_text()


@pytest.mark.parametrize(
    ("how", "why"), [({"models": True}, "speaks of modelling"), ({"wrong": "verifier"}, "verifier")]
)
def test_texts_that_fail_are_left_as_they_were(
    mechanical: tuple[Made, Path], tmp_path: Path, how: dict[str, object], why: str
) -> None:
    one, plain = mechanical
    told: list[str] = []
    sets.generate(WANTED, tmp_path / "set", told.append, Writing(asked=Writer(one, **how)))  # type: ignore[arg-type]
    assert any(why in text for text in told)
    assert documents(tmp_path / "set") == documents(plain)
