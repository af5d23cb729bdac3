"""The site: ``make docs`` builds it, with every warning an error, and looks at every link of what came out."""

import inspect
import logging
import operator
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Branch or tag that source links show.
BRANCH = os.environ.get("SOURCE_BRANCH", "main")
sys.path.insert(0, str(ROOT))

from oragent import __version__  # noqa: E402 - of this checkout, whichever copy is installed


def find_repository() -> str:
    """Return the address that the checkout was cloned from, if a browser can open it; otherwise an empty text."""
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    try:
        address = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
    address = re.sub(r"^git@([^:]+):", r"https://\1/", address).removesuffix(".git")
    # Addresses with a name or a password of a user are not for publication.
    return address if re.fullmatch(r"https?://[\w.:-]+/[^@\s]+", address) else ""


project = "oragent"
author = "The oragent developers"
project_copyright = "the oragent developers, MIT licence"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
exclude_patterns = ["_build", "tools", "examples/bakery", "**/__pycache__"]
# A folder of pages may be empty; that has no kind by which it could be left out.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda told: "didn't match any" not in str(told.msg))
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Notebooks run when the site is built: what they print is what this copy prints. NOTEBOOKS=off leaves that out.
nb_execution_mode = os.environ.get("NOTEBOOKS", "force")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_excludepatterns = [
    *([] if find_spec("torch") and find_spec("safetensors") else ["tutorials/neural*"]),
    *([] if find_spec("libsumo") else ["tutorials/driving*"]),
]
nb_merge_streams = True
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

html_theme = "furo"
html_title = f"oragent {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_logo = html_favicon = "_static/logo.svg"
html_search_scorer = str(Path(__file__).with_name("_static") / "search_scorer.js")
html_copy_source = False
html_show_sourcelink = False
templates_path = ["_templates"]
# The parts of furo's sidebar, with the list of versions below the name.
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options: dict[str, Any] = {"navigation_with_keys": True, "top_of_page_buttons": []}
if repository := find_repository():
    html_theme_options |= {
        "footer_icons": [{"name": "Repository", "url": repository, "html": "Repository", "class": ""}],
        "source_view_link": f"{repository}/blob/{BRANCH}/docs/{{filename}}",
        "source_edit_link": f"{repository}/edit/{BRANCH}/docs/{{filename}}",
        "top_of_page_buttons": ["view", "edit"],
    }
    extensions.append("sphinx.ext.linkcode")


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the address of the source of a name in the reference, for ``sphinx.ext.linkcode``."""
    try:
        value = inspect.unwrap(operator.attrgetter(info["fullname"])(import_module(info["module"])))
        lines, first = inspect.getsourcelines(value)
        file = Path(inspect.getfile(value)).relative_to(ROOT)
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        return None
    return f"{repository}/blob/{BRANCH}/{file.as_posix()}#L{first}-L{first + len(lines) - 1}"
