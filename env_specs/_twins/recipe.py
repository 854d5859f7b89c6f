"""What the twins of a task may differ in, and how one of them is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from promptpo.spec import Bound

from .chance import Chance

T = TypeVar("T")

#: The numbers of a world by their names, of which source can be written: numbers, texts, mappings.
World: TypeAlias = Mapping[str, Any]


class Moved(NamedTuple):
    """Where each of a field's numbers comes from in the original's, its sign, what is added."""

    columns: tuple[int, ...]
    signs: tuple[int, ...]
    offsets: tuple[float, ...]


@dataclass(frozen=True)
class Group:
    """Like numbers that have an order and signs of their own: joints, poles, the sides of a push.

    Attributes:
        size: how many there are.
        fields: the observation's fields that hold one number for each; whether a turned sign turns
            them too (an angle and its sine do, its cosine does not).
        ordered: whether their order may differ.
        signed: whether their signs may differ; ``"together"``: all of them or none.
        follows: of motors in an order of their own: the group whose signs theirs are, and which of
            its numbers each belongs to; None where the signs are their own.
    """

    size: int
    fields: Mapping[str, bool] = field(default_factory=dict)
    ordered: bool = True
    signed: bool | str = True
    follows: tuple[str, tuple[int, ...]] | None = None

    def plain(self) -> Moved:
        """The group's numbers as the original has them."""
        return Moved(tuple(range(self.size)), (1,) * self.size, (0.0,) * self.size)

    def drawn(self, chance: Chance) -> Moved:
        """The group's numbers as a twin has them."""
        order = self.plain().columns
        order = chance.shuffled(order) if self.ordered else order
        return Moved(order, _signs(chance, self), self.plain().offsets)

    def moved(self, name: str, group: Moved) -> Moved | None:
        """The numbers of a field of the group, which is moved so; None for other fields."""
        if name not in self.fields:
            return None
        return group if self.fields[name] else group._replace(signs=self.plain().signs)


@dataclass(frozen=True)
class View:
    """How a twin's numbers are seen: by group their order, signs and zeros; fields' order, names.

    ``shifts``, what is added to the numbers of a group, are absent where nothing is.
    """

    orders: Mapping[str, tuple[int, ...]]
    signs: Mapping[str, tuple[int, ...]]
    fields: tuple[str, ...]
    names: Mapping[str, str]
    shifts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def moved(self, group: str) -> Moved:
        """Order, signs and zeros of a group."""
        order = self.orders[group]
        return Moved(order, self.signs[group], self.shifts.get(group, (0.0,) * len(order)))

    def ordered(self, group: str, items: Sequence[T]) -> list[T]:
        """What the original has in its order, in the order of the view."""
        return [items[index] for index in self.orders[group]]

    def sign(self, group: str) -> int:
        """The sign of a group whose signs are turned together, or that has one number."""
        return self.signs[group][0]

    def limits(self, group: str, low: Sequence[float], high: Sequence[float]) -> tuple[Any, Any]:
        """Lower and upper limits in the order and with the signs of the view."""
        pairs = [
            sorted((sign * low[index] + 0.0, sign * high[index] + 0.0))
            for index, sign in zip(self.orders[group], self.signs[group], strict=True)
        ]
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


@dataclass(frozen=True)
class Facts:
    """A twin's data sheet.

    Attributes:
        text: what the prompt says.
        measured: source of an expression that says the same of the live ``env``.
        imports: the line that brings what the expression uses.
    """

    text: str
    measured: str
    imports: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The twins of one task.

    Attributes:
        original: the shipped spec's name.
        groups: what has an order and signs.
        action: the group whose order and signs the actions have, or several whose numbers follow
            each other; ``""``: ints in the order of the group ``"choices"``.
        world: the original's numbers.
        draw: draws those of a twin.
        passages: the passages of the original's text that depend on world and view, always in the
            same order. The original's text must hold those of its own world and view.
        make: the body of the twin's ``make()``, without the change of actions.
        imports: the modules beside this one that the body uses.
        titles: what a twin may be called in the first words of its title.
        words: what other words may stand for a word of the original, fields' names included; a
            field that is not named has its parts exchanged (hand_position as hand and position).
        withheld: what would name the original.
        bounds: the limits of those fields whose limits depend on the world, low and high, in the
            original's order and with its signs.
        expert: the source of the spec's ``expert``, given the world, where the original's can be
            played; None where there is none.
        facts: the body's data sheet; None where there is none.
        tolerance: the spec's ``reward_tolerance``, where another order of the actions moves the
            last bits of the environment's sums; None where the original's holds.
        seed: the draw that ships as ``twin:NAME``.
    """

    original: str
    groups: Mapping[str, Group]
    action: str | tuple[str, ...]
    world: World
    draw: Callable[[Chance], World]
    passages: Callable[[World, View], Sequence[str]]
    make: Callable[[World], str]
    imports: tuple[str, ...] = ()
    titles: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]
    withheld: tuple[str, ...]
    bounds: Callable[[World], Mapping[str, tuple[Bound, Bound]]] = lambda world: {}
    expert: Callable[[World], str] | None = None
    facts: Callable[[World, View], Facts] | None = None
    tolerance: float | None = None
    seed: int = 0

    def drawn_world(self, seed: int) -> World:
        """The world of a seed."""
        return self.draw(Chance(self.original, seed, "world"))

    def drawn_view(self, seed: int, fields: Sequence[str]) -> View:
        """The interface of a seed."""
        moved = {
            name: group.drawn(Chance(self.original, seed, name))
            for name, group in self.groups.items()
        }
        for name, group in self.groups.items():
            if group.follows:
                led, members = group.follows
                sign = dict(zip(moved[led].columns, moved[led].signs, strict=True))
                signs = tuple(sign[members[index]] for index in moved[name].columns)
                moved[name] = moved[name]._replace(signs=signs)
        chance = Chance(self.original, seed, "names")
        names = {word: chance.choice(others) for word, others in self.words.items()}
        names |= {name: _composed(name, names) for name in fields if name not in names}
        return _view(moved, chance.shuffled(fields), names)

    def plain_view(self, fields: Sequence[str]) -> View:
        """The interface of the original."""
        return _view({name: group.plain() for name, group in self.groups.items()}, fields, {})

    def moved(self, view: View, name: str, size: int) -> Moved:
        """How a field's numbers lie to the original's."""
        for key, group in self.groups.items():
            if found := group.moved(name, view.moved(key)):
                return found
        return Group(size).plain()

    def actions(self, view: View) -> Moved:
        """How the numbers of actions lie to the original's; nothing is added to them."""
        action = self.action or "choices"
        groups = [action] if isinstance(action, str) else action
        columns: tuple[int, ...] = ()
        signs: tuple[int, ...] = ()
        for group in groups:
            columns += tuple(len(columns) + column for column in view.orders[group])
            signs += view.signs[group]
        return Moved(columns, signs, (0.0,) * len(columns))

    def title(self, seed: int) -> str:
        """What the twin of a seed is called."""
        return Chance(self.original, seed, "title").choice(self.titles)


def _signs(chance: Chance, group: Group) -> tuple[int, ...]:
    if not group.signed:
        return (1,) * group.size
    if group.signed == "together":
        return (chance.choice((-1, 1)),) * group.size
    return chance.signs(group.size)


def _view(moved: Mapping[str, Moved], fields: Sequence[str], names: Mapping[str, str]) -> View:
    return View(
        {name: group.columns for name, group in moved.items()},
        {name: group.signs for name, group in moved.items()},
        tuple(fields),
        names,
        {name: group.offsets for name, group in moved.items() if any(group.offsets)},
    )


def _composed(name: str, names: Mapping[str, str]) -> str:
    """A field's name whose parts are exchanged."""
    return "_".join(names.get(part, part).replace(" ", "_") for part in name.split("_"))
