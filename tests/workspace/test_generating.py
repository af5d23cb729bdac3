"""Workspaces of our own: the truth is in them, revisions move what they should, and nothing else gives labels away."""

import numpy as np
import pytest

from oragent.evals.workspace.business_text import modelling_words
from oragent.evals.workspace.generating.sheets import read, written
from oragent.evals.workspace.generating.stories import STORIES
from oragent.evals.workspace.noise.planting import OPERATORS, plant, resolve
from oragent.milp.families import FAMILIES


def flat(value, depth):
    if depth == 0:
        return {(): value}
    return {(str(name), *rest): one for name, inner in value.items() for rest, one in flat(inner, depth - 1).items()}


def test_every_family_has_a_story_without_words_of_modelling():
    assert set(STORIES) == set(FAMILIES)
    for story in STORIES.values():
        assert modelling_words(" ".join([story.voice, *story.rules, story.aim])) == ()


@pytest.mark.parametrize("family", STORIES)
def test_tables_give_the_exact_figures_back_after_all_noise(family):
    story = STORIES[family]
    for seed in range(3):
        instance = FAMILIES[family](seed, 4)
        clean = written(story, instance.data, "A title")
        found = read(story, clean)
        for key, index in story.index.items():
            wanted = flat(story.shaped(instance.data)[key], len(index))
            assert found[key] == {
                names: f"{value:.10g}" if isinstance(value, float) else str(value) for names, value in wanted.items()
            }
        noisy = plant(clean, np.random.default_rng(seed), len(OPERATORS))
        assert noisy.steps
        assert read(story, resolve(noisy.artifacts, noisy.steps)) == found
