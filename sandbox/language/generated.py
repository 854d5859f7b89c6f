"""Library functions that write source text or classes from names: one table, one check.

``dataclass`` and ``namedtuple`` put the names of fields into text that is executed, and into
``__match_args__``, by which class patterns read attributes. So every name passes ``_check_names``,
and what else goes in has its exact type: an option that is not a plain bool could answer
differently each time it is asked.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import keyword
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from sandbox.language import names, ownership
from sandbox.language.building import guard_patterns


def _check_names(fields: Iterable[object]) -> None:
    for name in fields:
        plain = type(name) is str and name.isidentifier() and not keyword.iskeyword(name)
        if not plain or name in names.REFUSED_ATTRIBUTES or names.is_dunder(str(name)):
            raise ValueError(f"{name!r} cannot be the name of a field")


def _check_bools(options: dict[str, Any], *also: object) -> None:
    for name, value in options.items():
        if type(value) is not bool and not any(value is other for other in also):
            raise TypeError(f"{name}= must be True or False")


def _dataclass(cls: type | None = None, /, **options: bool) -> object:
    """``dataclasses.dataclass``, after a look at every name that it would write into source."""
    _check_bools(options)

    def decorate(kind: type) -> type:
        if not isinstance(kind, type) or not ownership.is_own_class(kind):
            raise TypeError("@dataclass is for classes that are defined in this program")
        for base in kind.__mro__:
            _check_names(vars(base).get("__annotations__", ()))
            for entry in vars(base).get("__dataclass_fields__", {}).values():
                _check_names([entry.name])
        generates_repr = options.get("repr", True) and "__repr__" not in vars(kind)
        make: Callable[[type], type] = dataclasses.dataclass(**options)
        made = make(kind)
        guard_patterns(made)
        if generates_repr and any(f.name[0] == names.PREFIX for f in dataclasses.fields(made)):
            _show_private_names(made)
        return made

    return decorate if cls is None else decorate(cls)


def _show_private_names(kind: type) -> None:
    """Let the generated ``repr`` show fields as they were written."""
    plain: Callable[[object], str] = vars(kind)["__repr__"]

    def shown(self: object) -> str:
        return names.readable(plain(self))

    kind.__repr__ = shown  # type: ignore[method-assign,assignment]


def _field(**options: Any) -> object:  # noqa: ANN401 - as the original
    """``dataclasses.field``."""
    switches = {n: v for n, v in options.items() if n in ("init", "repr", "compare", "kw_only")}
    _check_bools(switches, dataclasses.MISSING)
    _check_bools({n: v for n, v in options.items() if n == "hash"}, None)
    if type(options.get("metadata")) not in (dict, types.NoneType):
        raise TypeError("metadata= must be a dict")
    made: object = dataclasses.field(**options)
    return made


class Field:
    """What ``fields`` tells of a field; the real object is part of what generates code."""

    __slots__ = (
        "compare", "default", "default_factory", "hash", "init", "kw_only", "metadata", "name",
        "repr", "type",
    )  # fmt: skip

    def __repr__(self) -> str:
        return f"Field(name={self.name!r})"  # type: ignore[attr-defined]


def _fields(class_or_instance: object) -> tuple[Field, ...]:
    """``dataclasses.fields``, with private names as they were written."""
    fields = []
    for real in dataclasses.fields(class_or_instance):  # type: ignore[arg-type]
        field = Field()
        for name in Field.__slots__:
            setattr(field, name, getattr(real, name))
        field.name = names.readable(real.name)  # type: ignore[attr-defined]
        fields.append(field)
    return tuple(fields)


def _asdict(obj: Any, *, dict_factory: Callable[..., object] = dict) -> object:  # noqa: ANN401 - any dataclass
    """``dataclasses.asdict``, with private names as they were written."""

    def factory(pairs: list[tuple[str, object]]) -> object:
        return dict_factory([(names.readable(name), value) for name, value in pairs])

    made: object = dataclasses.asdict(obj, dict_factory=factory)
    return made


def _namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
    module: object = None,
) -> type:
    """``collections.namedtuple``, after a look at the field names; ``module`` has no meaning."""
    _check_bools({"rename": rename})
    _check_names([typename])
    if type(field_names) is str:
        field_names = field_names.replace(",", " ").split()
    field_names = list(field_names)
    if not rename:
        _check_names(field_names)
    if any(type(name) is not str for name in field_names):
        raise TypeError("the names of fields must be plain strings")
    make: Any = collections.namedtuple
    made: type = make(
        typename, field_names, rename=rename, defaults=defaults, module=ownership.MODULE
    )
    _check_names(made._fields)  # type: ignore[attr-defined]
    return made


class _EnumType(enum.EnumType):
    """Enums are written as classes; made by a call they could be given any special method."""

    def __call__(  # type: ignore[override]
        cls, value: object, *names: object, **options: object
    ) -> object:
        """The member with this value."""
        if names or options:
            raise TypeError("an enum made by a call is not available: write `class X(Enum):`")
        return super().__call__(value)


def _enum(base: type[enum.Enum]) -> type[enum.Enum]:
    made: type[enum.Enum] = types.new_class(base.__name__, (base,), {"metaclass": _EnumType})
    return made


class _ClassOnly:
    """A base class to inherit from; the form that is called takes names as text."""

    __slots__ = ("_form",)

    def __init__(self, form: object) -> None:
        self._form: Any = form

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """What ``class X(NamedTuple)`` really inherits from."""
        entries: tuple[type, ...] = self._form.__mro_entries__((self._form,))
        return entries


#: Every offered name that generates source or classes. In the class forms the names come from
#: class bodies, where the compiler has looked at them (``rewriter.name_of``).
GENERATED: dict[str, dict[str, object]] = {
    "collections": {"namedtuple": _namedtuple},
    "dataclasses": {
        "asdict": _asdict,
        "dataclass": _dataclass,
        "field": _field,
        "fields": _fields,
    },
    "enum": {
        kind.__name__: _enum(kind)
        for kind in (enum.Enum, enum.Flag, enum.IntEnum, enum.IntFlag, enum.StrEnum)
    },
    "typing": {
        "NamedTuple": _ClassOnly(typing.NamedTuple),
        "TypedDict": _ClassOnly(typing.TypedDict),
    },
}
