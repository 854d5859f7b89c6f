"""The base of a program's plain classes, in the place of ``object``.

Addresses differ from process to process, and tell what other episodes have allocated. ``object``
shows them in ``repr``, and by its hash in the order of a set; here objects are numbered instead.
(Functions, generators and classes in a set still go by address, and so do objects of data classes
with ``slots=True``.)
"""

from __future__ import annotations

from typing import Any, Generic

from sandbox.language import names, roots


class Object:
    """Has a ``repr`` and a hash that repeat."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind = type(self)
        return f"<{kind.__module__}.{kind.__qualname__} object>"

    def __hash__(self) -> int:
        number: int | None = getattr(self, names.HASH, None)
        if number is None:
            number = roots.now().next_number()
            try:
                object.__setattr__(self, names.HASH, number)
            except AttributeError:
                return object.__hash__(self)
        return number


def with_object(bases: tuple[Any, ...], resolved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The bases of a class, ``Object`` among them where ``object`` would say what it is."""
    if not all(map(_is_bare, resolved)):
        return bases
    return (*(base for base in bases if base is not object), Object)


def _is_bare(base: type) -> bool:
    # Of typing there are bases that stand no other beside them.
    alone = vars(base).get("_is_protocol") or (base.__module__ == "typing" and base is not Generic)
    return getattr(base, "__repr__", None) is object.__repr__ and not alone
