"""AEL: who are parents, who is changed, and what is scored."""

from collections import Counter

import pytest

from tests.search.test_rivals import records, search, settings
from tests.search.writer import Writer

SMALL = ("population=4", "first=4")


def options(*own: str) -> tuple[str, ...]:
    return tuple(f"strategy.options.{one}" for one in (*SMALL, *own))


def test_a_generation_is_made_of_the_population_as_it_was_when_it_began(begun) -> None:
    folder = begun(*settings("ael", *options("mutation=0"), "strategy.window=1"))
    search(folder)
    known = records(folder)
    for record in known:
        if record.round <= 4 or record.candidate.origin != "ael_crossover":
            continue
        begins = 4 + (record.round - 5) // 4 * 4
        scores = {one.score for one in known if one.placed and one.round <= begins}
        best = sorted(scores)[:4]
        parents = [one.score for name in record.candidate.parents for one in known if one.id == name]
        assert len(set(parents)) == min(2, len(best))
        assert set(parents) <= set(best)


@pytest.mark.slow
def test_parents_are_drawn_uniformly_or_by_one_over_the_rank(begun) -> None:
    for selection, expected in (("uniform", 0.25), ("rank", 12 / 25)):
        folder = begun(*settings("ael", *options("parents=1", f"selection={selection}"), evaluations=150))
        search(folder)
        known, drawn = records(folder), Counter[int]()
        for record in known:
            if record.round > 20 and record.candidate.origin == "ael_crossover":
                begins = 4 + (record.round - 5) // 4 * 4 - 4  # all of what came before that is surely committed
                best = sorted({one.score for one in known if one.placed and one.round <= begins})[:4]
                (parent,) = (one.score for one in known if one.id == record.candidate.parents[0])
                if parent in best:
                    drawn[best.index(parent)] += 1
        assert drawn[0] / drawn.total() == pytest.approx(expected, abs=0.13)


def test_a_child_that_is_changed_is_not_scored_before(begun) -> None:
    model, folder = Writer(), begun(*settings("ael", *options("mutation=1"), evaluations=30))
    search(folder, model)
    origins = Counter(record.candidate.origin for record in records(folder) if record.round > 4 and record.score)
    assert origins["ael_mutation"] > 10
    assert not origins["ael_crossover"]
    written = {
        prompt.split("def guess(x):\n    return ")[-1].split("\n")[0] for prompt in model.prompts("ael_mutation")
    }
    assert len(written) > 5  # the draft, which nobody scored, is what is shown


def test_in_the_variant_of_a_study_a_scored_child_makes_room_for_its_changed_form_better_or_not(begun) -> None:
    folder = begun(*settings("ael", *options("mutation=1", "score_crossed=true"), "strategy.window=1"))
    search(folder)
    known = records(folder)
    changed = [one for one in known if one.candidate.origin == "ael_mutation"]
    crossed = {one.candidate.parents[0] for one in changed}
    origins = {one.candidate.origin for one in known if one.id in crossed}
    assert {"ael_crossover"} <= origins <= {"ael_crossover", "repair"}  # one that fails is repaired first
    assert all(one.score is not None for one in known if one.id in crossed)
    parents = {name for one in known if one.candidate.origin == "ael_crossover" for name in one.candidate.parents}
    assert not parents & crossed


def test_no_prompt_of_the_paper_tells_a_score(begun) -> None:
    model = Writer()
    search(begun(*settings("ael", *options(), "strategy.show=paper", evaluations=25)), model)
    assert model.prompts("ael_crossover")
    assert not any("score " in one.messages[-1].content for one in model.asked)
