"""Syntax and help of the commands of the rules agent, and the error for a line that is not a command."""

import re
from difflib import get_close_matches

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line

# Other spellings of relations.
RELATIONS = {"≤": "<=", "≥": ">="}
BOUND_FORM = "OBJECTIVE <= NUMBER"
FORMS = {
    "fix": "fix ITEM OPTION",
    "forbid": "forbid ITEM OPTION",
    "weight": "weight OBJECTIVE NUMBER",
    "lowest": "lowest OBJECTIVE",
    "highest": "highest OBJECTIVE",
    "best": "best OBJECTIVE",
    "remove": "remove NAME",
    "undo": "undo",
    "reset": "reset",
    "help": "help",
}
# A number as users type it. Commas separate thousands; a single comma elsewhere is a decimal comma.
FIGURE = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
HELP = f"Commands, several with ';' between: {', '.join([*FORMS.values(), BOUND_FORM])}"
# Maximum number of characters of a quoted text in a message.
MAX_QUOTE_CHARACTERS = 60


def parse_figure(text: str) -> float:
    """Read a number. Commas separate thousands; a single comma elsewhere is a decimal comma.

    Raises:
        ValueError: The text is not a number.
    """
    text = text.strip()
    if FIGURE.fullmatch(text):
        return float(text.replace(",", ""))
    if DECIMAL_COMMA.fullmatch(text):
        return float(text.replace(",", "."))
    raise ValueError(f"{text[:MAX_QUOTE_CHARACTERS]!r} is not a number")


def no_command_error(line: str) -> ConfigError:
    """Return the error for a line that is not a command. It names the nearest command."""
    words = line.casefold().split()
    named = [word for word in words if word in FORMS]
    if named:
        nearest = FORMS[named[0]]
    elif any(sign in line for sign in ("<", ">", "≤", "≥")):
        nearest = BOUND_FORM
    else:
        nearest = FORMS[get_close_matches(words[0], FORMS, n=1, cutoff=0.0)[0]]
    return ConfigError(f"{one_line(line, 80)!r} is not a command; the nearest is '{nearest}', and 'help' lists all")
