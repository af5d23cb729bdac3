"""What prompts are written with, whoever asks: templates, and programs with their figures."""

from oragent.search.prompting.hints import bins, blocks, meanings, wanted
from oragent.search.prompting.programs import figures, said, show
from oragent.search.prompting.templates import fill

__all__ = ["bins", "blocks", "figures", "fill", "meanings", "said", "show", "wanted"]
