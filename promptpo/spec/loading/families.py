"""Families of specs: ``family:member`` names a spec that is written when it is asked for.

A family is a module ``family_NAME.py`` among the shipped specs, or one of an installed package. Its
docstring's first line is what ``promptpo list`` says of it, and it holds

    EXAMPLE             one of its members
    INSTALL             what ``pip install`` brings the packages that it needs
    members()           the names of its members
    source(member)      the text of the member's spec module; UnknownMember if there is none
    SHIPPED             optional: members that have a spec file of their own beside it, by its name
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from promptpo.common.foreign import foreign
from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import UnknownMember, Unsuitable
from promptpo.spec.loading import catalog
from promptpo.spec.loading.catalog import Entry
from promptpo.spec.loading.importing import LIMIT, import_entry
from promptpo.spec.running.activity import IMPORT, activity
from promptpo.spec.running.explanation import explain
from promptpo.spec.running.guard import exit_raises, reraise_interrupt, time_limit


@dataclass(frozen=True)
class Family:
    """One family; its module is imported when it is first needed, and may then raise SpecError."""

    entry: Entry

    @property
    def name(self) -> str:
        """What stands before the colon."""
        return self.entry.name

    @property
    def module(self) -> ModuleType:
        """The module that is the family."""
        return import_entry(self.entry)

    @property
    def title(self) -> str:
        """One line."""
        return inspect.cleandoc(self.module.__doc__ or "").partition("\n")[0]

    @property
    def example(self) -> str:
        """A reference to one of its members, e.g. ``metaworld:push-v3``."""
        return f"{self.name}:{self._part('EXAMPLE')}"

    def members(self) -> Sequence[str]:
        """Names of the members, sorted. Raises SpecError where a package is missing."""
        members = self._part("members")
        try:
            return sorted(members())
        except BaseException as error:
            reraise_interrupt(error)
            raise SpecError(self._explained(self.name, error)) from error

    def own_file(self, member: str) -> Path | None:
        """The spec file that a member has of its own, if it has one."""
        name: str | None = getattr(self.module, "SHIPPED", {}).get(member)
        return self.entry.path.with_name(f"{name}.py") if name else None

    def source(self, member: str) -> str:
        """Text of a member's spec module. Raises SpecError."""
        ref = f"{self.name}:{member}"
        source = self._part("source")
        try:
            with activity.call(IMPORT), foreign(ref), exit_raises(), time_limit(LIMIT):
                text: str = source(member)
        except UnknownMember:
            members = self.members()
            near = difflib.get_close_matches(member, members, n=3, cutoff=0.5)
            some = [f"{self.name}:{name}" for name in near] or [self.example]
            hint = f"did you mean {' or '.join(some)}?" if near else f"an example is {some[0]}"
            count = f"{len(members)} members; `promptpo list {self.name}` shows them"
            raise SpecError(f"{ref}: the family has no such member; {hint} ({count})") from None
        except Unsuitable as error:
            raise SpecError(f"{ref}: {error}") from None
        except BaseException as error:  # its environment has been made
            reraise_interrupt(error)
            raise SpecError(self._explained(ref, error)) from error
        return text

    def _part(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        """What the module has to hold. Raises SpecError where it does not."""
        try:
            return getattr(self.module, name)
        except AttributeError:
            words = (
                f"a family without {name}; `promptpo/spec/loading/families.py` says what it holds"
            )
            raise SpecError(f"{self.entry.path}: {words}") from None

    def _explained(self, ref: str, error: BaseException) -> str:
        return ": ".join(explain(error, Path(ref), getattr(self.module, "INSTALL", "")))


def families() -> list[Family]:
    """The families by name, the shipped ones first; imports none of them."""
    return [Family(entry) for entry in catalog.shipped().families + catalog.installed().families]


def split(ref: str) -> tuple[Family, str] | None:
    """Family and member that ``family:member`` names; None where a reference is of another form.

    Raises SpecError where there is no such family.
    """
    name, colon, member = ref.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        return None
    return family(name, f":{member}"), member


def family(name: str, rest: str = "") -> Family:
    """The family of a name. Raises SpecError; ``rest`` is what followed the name."""
    known = {found.name: found for found in reversed(families())}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}{rest}?" if near else f"families: {', '.join(sorted(known))}"
        raise SpecError(f"{name}{rest}: no such family of specs; {hint}")
    return known[name]


def expanded(refs: Iterable[str]) -> Iterator[str]:
    """What was named; ``family:`` stands for its members without a file of their own.

    Raises SpecError where there is no such family, or its package is missing.
    """
    for ref in refs:
        found = split(ref) if ref.endswith(":") else None
        if found is None:
            yield ref
        else:
            yield from (f"{ref}{m}" for m in found[0].members() if not found[0].own_file(m))


def name_of(ref: str) -> str:
    """Name of the spec ``family:member``: as in folder names, without ``:`` and ``/``."""
    return re.sub(r"[^\w.-]+", "_", ref)
