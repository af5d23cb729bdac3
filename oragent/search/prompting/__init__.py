"""What prompts are written with, whoever asks: templates, the problem, where the search stands, and programs."""

from oragent.search.prompting.frame import (
    bin_meanings,
    bin_names,
    blocks_hint,
    describe_exceeded_limits,
    edits_request,
    fill_template,
    program_request,
    prompt_tokens_left,
    system_prompt,
    task_messages,
)
from oragent.search.prompting.programs import (
    Told,
    as_published,
    describe_lineage,
    format_figure,
    list_figures,
    show_program,
    shown_figures,
)
from oragent.search.prompting.standing import (
    best_elites,
    describe_champion,
    describe_standing,
    describe_tried,
    set_title,
)

__all__ = [
    "Told",
    "as_published",
    "best_elites",
    "bin_meanings",
    "bin_names",
    "blocks_hint",
    "describe_champion",
    "describe_exceeded_limits",
    "describe_lineage",
    "describe_standing",
    "describe_tried",
    "edits_request",
    "fill_template",
    "format_figure",
    "list_figures",
    "program_request",
    "prompt_tokens_left",
    "set_title",
    "show_program",
    "shown_figures",
    "system_prompt",
    "task_messages",
]
