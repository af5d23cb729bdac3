"""Documents of planners: sentences in a drawn form, by drawn people, in English, German or both."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from oragent._base.safe_load import load_yaml


@cache
def read_styles() -> Any:
    """Return the forms, people, phrases and general sentences."""
    return load_yaml(Path(__file__).parent / "styles.yaml")


def general(name: str, **words: str) -> tuple[str, ...]:
    """Return a general sentence in its three wordings."""
    return tuple(Template(text).substitute(words) for text in read_styles()["sentences"][name])


def write_document(
    rng: np.random.Generator, company: str, topic: str, sentences: Sequence[Sequence[str]]
) -> tuple[str, str]:
    """Return the name and the text of a document.

    Each sentence is two English wordings and a German one. The order of the sentences is kept.
    """
    tables = read_styles()
    names = list(tables["styles"])
    form = tables["styles"][names[int(rng.integers(len(names)))]]
    # Notes are always in both languages.
    language = "both" if form is tables["styles"]["notes"] else str(rng.choice(["en", "en", "both", "de"]))
    people = [tables["people"][place] for place in rng.permutation(len(tables["people"]))[:3].tolist()]
    words = {"company": company, "topic": topic, "time": f"{int(rng.integers(8, 17)):02}"}
    for name, person in zip(("who", "other", "third"), people, strict=True):
        words |= {name: person, f"{name}_at": person.lower().replace(" ", ".") + "@example.com"}
    words["initials"] = "".join(part[0] for part in people[0].split())
    phrases = tables["phrases"] | {"subject": tables["phrases"][topic]}
    for name in ("day", "date", *sorted(set(phrases) - {"day", "date"})):
        choices = phrases[name][-1 if language == "de" else 0]
        words[name] = Template(str(rng.choice(choices))).substitute(words)
    lines = [form["open"]]
    for number, wordings in enumerate(sentences):
        half = int(2 * number >= len(sentences))
        if half and 2 * (number - 1) < len(sentences):
            lines.append(form["middle"])
        places = {"en": [0, 1], "both": [0, 1, 2, 2], "de": [2]}[language]
        text = wordings[int(rng.choice(places))]
        minute = f"{3 + (54 * number) // len(sentences):02}"
        lines.append(Template(form["lines"][half]).substitute(words, n=str(number + 1), minute=minute, text=text))
    filled = [Template(line).safe_substitute(words) for line in [*lines, form["close"]]]
    return Template(form["path"]).substitute(words), form["join"].join(filled) + "\n"
