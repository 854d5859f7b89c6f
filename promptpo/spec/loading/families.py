"""Families of specs: ``family:member`` names a spec that is written when it is asked for.

A family is a module ``family_NAME.py`` among the shipped specs. Its docstring's first line is what
``promptpo list`` says of it, and it holds

    EXAMPLE             one of its members
    INSTALL             what ``pip install`` brings the packages that it needs
    members()           the names of its members
    source(member)      the text of the member's spec module; UnknownMember if there is none
    SHIPPED             optional: members that have a spec file of their own, with its name
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import UnknownMember, Unsuitable
from promptpo.spec.loading.importing import LIMIT, import_helper
from promptpo.spec.running.activity import IMPORT, activity
from promptpo.spec.running.explanation import explain
from promptpo.spec.running.guard import exit_raises, reraise_interrupt, time_limit

#: The package of shipped specs lies beside ``promptpo``, in a clone as in an installed wheel.
SHIPPED_FOLDER = Path(__file__).resolve().parents[3] / "env_specs"

PREFIX = "family_"


@dataclass(frozen=True)
class Family:
    """One family, by name; its module is imported when it is first needed."""

    name: str

    @property
    def module(self) -> ModuleType:
        """The module ``family_NAME.py``."""
        return import_helper(SHIPPED_FOLDER, PREFIX + self.name)

    @property
    def title(self) -> str:
        """One line."""
        return inspect.cleandoc(self.module.__doc__ or "").partition("\n")[0]

    @property
    def example(self) -> str:
        """A reference to one of its members, e.g. ``metaworld:push-v3``."""
        return f"{self.name}:{self.module.EXAMPLE}"

    def members(self) -> Sequence[str]:
        """Names of the members, sorted. Raises SpecError where a package is missing."""
        try:
            return sorted(self.module.members())
        except ImportError as error:
            raise SpecError(self._explained(self.name, error)) from error

    def shipped(self, member: str) -> str | None:
        """Name of the spec file that a member has of its own, if it has one."""
        name: str | None = getattr(self.module, "SHIPPED", {}).get(member)
        return name

    def source(self, member: str) -> str:
        """Text of a member's spec module. Raises SpecError."""
        ref = f"{self.name}:{member}"
        try:
            with activity.call(IMPORT), exit_raises(), time_limit(LIMIT):
                text: str = self.module.source(member)
        except UnknownMember:
            members = self.members()
            near = difflib.get_close_matches(member, members, n=3, cutoff=0.5)
            some = [f"{self.name}:{name}" for name in near or [self.module.EXAMPLE]]
            hint = f"did you mean {' or '.join(some)}?" if near else f"an example is {some[0]}"
            count = f"{len(members)} members; `promptpo list {self.name}` shows them"
            raise SpecError(f"{ref}: the family has no such member; {hint} ({count})") from None
        except Unsuitable as error:
            raise SpecError(f"{ref}: {error}") from None
        except BaseException as error:  # its environment has been made
            reraise_interrupt(error)
            raise SpecError(self._explained(ref, error)) from error
        return text

    def _explained(self, ref: str, error: BaseException) -> str:
        return ": ".join(explain(error, Path(ref), self.module.INSTALL))


def families() -> list[Family]:
    """The shipped families, sorted by name; imports none of them."""
    paths = sorted(SHIPPED_FOLDER.glob(f"{PREFIX}*.py"))
    return [Family(path.stem.removeprefix(PREFIX)) for path in paths]


def split(ref: str) -> tuple[Family, str] | None:
    """Family and member that ``family:member`` names; None where a reference is of another form.

    Raises SpecError where there is no such family.
    """
    name, colon, member = ref.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        return None
    known = {family.name: family for family in families()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}:{member}?" if near else f"families: {', '.join(known)}"
        raise SpecError(f"{ref}: no such family of specs; {hint}")
    return known[name], member


def expanded(refs: Iterable[str]) -> Iterator[str]:
    """What was named; ``family:`` stands for its members without a file of their own.

    Raises SpecError where there is no such family, or its package is missing.
    """
    for ref in refs:
        found = split(ref) if ref.endswith(":") else None
        if found is None:
            yield ref
        else:
            family = found[0]
            yield from (f"{ref}{m}" for m in family.members() if not family.shipped(m))


def name_of(ref: str) -> str:
    """Name of the spec ``family:member``: as in folder names, without ``:`` and ``/``."""
    return re.sub(r"[^\w.-]+", "_", ref)
