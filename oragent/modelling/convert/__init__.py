"""Convert indexed models to files and to source of modelling libraries: ``convert_model``, ``write_source``."""

from oragent.modelling.convert.converting import FORMS, SOURCES, convert_model, form_of, write_source

__all__ = ["FORMS", "SOURCES", "convert_model", "form_of", "write_source"]
