"""Convert indexed models to files and to source of modelling libraries: ``convert_model``, ``write_source``."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.convert.converting import FORMS as FORMS
    from oragent.modelling.convert.converting import SOURCES as SOURCES
    from oragent.modelling.convert.converting import convert_model as convert_model
    from oragent.modelling.convert.converting import form_of as form_of
    from oragent.modelling.convert.converting import write_source as write_source

__all__ = ["FORMS", "SOURCES", "convert_model", "form_of", "write_source"]

_MODULES = {
    "FORMS": "oragent.modelling.convert.converting",
    "SOURCES": "oragent.modelling.convert.converting",
    "convert_model": "oragent.modelling.convert.converting",
    "form_of": "oragent.modelling.convert.converting",
    "write_source": "oragent.modelling.convert.converting",
}
__getattr__ = import_on_use(__name__, _MODULES)
