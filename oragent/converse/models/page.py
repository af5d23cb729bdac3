"""Report of a conversation about a model, as one page without scripts."""

from pathlib import Path

from oragent.converse.models.model_conversation import ModelConversation
from oragent.converse.models.result_text import view_result
from oragent.report.pages.html import make_environment, replace_page


def write_model_page(conversation: ModelConversation) -> Path:
    """Write ``report.html`` into the folder of a conversation.

    Raises:
        StoreError: The page cannot be written.
    """
    page = make_environment(Path(__file__).parent).get_template("report.html")
    messages = [
        {
            "said": record.said,
            "parts": record.parts,
            "note": record.note,
            "results": [view_result(result) for result in record.results],
            "changes": record.changes,
        }
        for record in conversation.records
    ]
    name = conversation.workbench.model.name or "model"
    return replace_page(conversation.folder, page.render(name=name, messages=messages))
