"""Sources of specs, written from what Gymnasium documents, and tables of data sheets."""

from promptpo.spec.authoring.sheet_tables import number, table
from promptpo.spec.writing.documentation import prose_of, section, sections_of
from promptpo.spec.writing.formatting import docstring, field_source, wrapped
from promptpo.spec.writing.own import own_source
from promptpo.spec.writing.registry import registered_ids, registered_source

__all__ = [
    "docstring",
    "field_source",
    "number",
    "own_source",
    "prose_of",
    "registered_ids",
    "registered_source",
    "section",
    "sections_of",
    "table",
    "wrapped",
]
