"""The modules of the method, one file each: what each is told and what it must return (Wang et al. 2025)."""

from oragent.formulate.modules.compiler import compile_draft
from oragent.formulate.modules.conductor import conduct
from oragent.formulate.modules.counterfactual import reconsider, write_checker
from oragent.formulate.modules.formalization import formalize
from oragent.formulate.modules.reviewer import review
from oragent.formulate.modules.semantic_encoder import encode
from oragent.formulate.modules.supervisor import backward, forward
from oragent.formulate.modules.syntax_analysis import diagnose
from oragent.formulate.modules.terminology import interpret

__all__ = [
    "backward",
    "compile_draft",
    "conduct",
    "diagnose",
    "encode",
    "formalize",
    "forward",
    "interpret",
    "reconsider",
    "review",
    "write_checker",
]
