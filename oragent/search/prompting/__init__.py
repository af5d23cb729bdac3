"""What prompts are written with, whoever asks: templates, the problem, where the search stands, and programs."""

from oragent.search.prompting.frame import asked, room, system
from oragent.search.prompting.hints import bins, blocks, edits, meanings, wanted
from oragent.search.prompting.lineage import history
from oragent.search.prompting.programs import Told, as_published, figures, said, show, told
from oragent.search.prompting.standing import entitle, standing
from oragent.search.prompting.templates import fill

__all__ = [
    "Told",
    "as_published",
    "asked",
    "bins",
    "blocks",
    "edits",
    "entitle",
    "figures",
    "fill",
    "history",
    "meanings",
    "room",
    "said",
    "show",
    "standing",
    "system",
    "told",
    "wanted",
]
