"""Sources of specs, written from what Gymnasium documents; for families and templates."""

from promptpo.spec.writing.documentation import prose_of, section, sections_of
from promptpo.spec.writing.formatting import docstring, field_source, wrapped
from promptpo.spec.writing.own import own_source
from promptpo.spec.writing.registry import registered_ids, registered_source

__all__ = [
    "docstring",
    "field_source",
    "own_source",
    "prose_of",
    "registered_ids",
    "registered_source",
    "section",
    "sections_of",
    "wrapped",
]
