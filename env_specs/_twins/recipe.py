"""What the twins of a task may differ in, and how one of them is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from promptpo.spec.authoring.definition import Bound

from .chance import Chance

T = TypeVar("T")

#: The numbers of a world by their names, of which source can be written: numbers, texts, mappings.
World: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """Like numbers that have an order and signs of their own: joints, poles, the sides of a push.

    Attributes:
        size: how many there are.
        fields: the observation's fields that hold one number for each; whether a turned sign turns
            them too (an angle and its sine do, its cosine does not).
        ordered: whether their order may differ.
        signed: whether their signs may differ; ``"together"``: all of them or none.
    """

    size: int
    fields: Mapping[str, bool] = field(default_factory=dict)
    ordered: bool = True
    signed: bool | str = True


@dataclass(frozen=True)
class View:
    """How a twin's numbers are seen: orders and signs by group, the fields' order, all names."""

    orders: Mapping[str, tuple[int, ...]]
    signs: Mapping[str, tuple[int, ...]]
    fields: tuple[str, ...]
    names: Mapping[str, str]

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


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The twins of one task.

    Attributes:
        original: the shipped spec's name.
        groups: what has an order and signs.
        action: the group whose order and signs the actions have; ``""``: ints in the order of
            the group ``"choices"``.
        world: the original's numbers.
        draw: draws those of a twin.
        passages: the passages of the original's text that depend on world and view, always in the
            same order. The original's text must hold those of its own world and view.
        make: the body of the twin's ``make()``, without the change of actions.
        imports: the modules beside this one that the body uses.
        titles: what a twin may be called in the first words of its title.
        words: what other words may stand for a word of the original, fields' names included.
        withheld: what would name the original.
        bounds: the limits of those fields whose limits depend on the world, low and high, in the
            original's order and with its signs.
        facts: the body's data sheet: a function of world and view; None where there is none.
        seed: the draw that ships as ``twin:NAME``.
    """

    original: str
    groups: Mapping[str, Group]
    action: str
    world: World
    draw: Callable[[Chance], World]
    passages: Callable[[World, View], Sequence[str]]
    make: Callable[[World], str]
    imports: tuple[str, ...] = ()
    titles: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]
    withheld: tuple[str, ...]
    bounds: Callable[[World], Mapping[str, tuple[Bound, Bound]]] = lambda world: {}
    facts: Callable[[World, View], str] | None = None
    seed: int = 0

    def drawn_world(self, seed: int) -> World:
        """The world of a seed."""
        return self.draw(Chance(self.original, seed, "world"))

    def drawn_view(self, seed: int, fields: Sequence[str]) -> View:
        """The interface of a seed."""
        orders, signs = {}, {}
        for name, group in self.groups.items():
            chance = Chance(self.original, seed, name)
            plain = tuple(range(group.size))
            orders[name] = chance.shuffled(plain) if group.ordered else plain
            signs[name] = _signs(chance, group)
        chance = Chance(self.original, seed, "names")
        names = {word: chance.choice(others) for word, others in self.words.items()}
        return View(orders, signs, chance.shuffled(fields), names)

    def plain_view(self, fields: Sequence[str]) -> View:
        """The interface of the original."""
        orders = {name: tuple(range(group.size)) for name, group in self.groups.items()}
        signs = {name: (1,) * group.size for name, group in self.groups.items()}
        return View(orders, signs, tuple(fields), {})

    def title(self, seed: int) -> str:
        """What the twin of a seed is called."""
        return Chance(self.original, seed, "title").choice(self.titles)


def _signs(chance: Chance, group: Group) -> tuple[int, ...]:
    if not group.signed:
        return (1,) * group.size
    if group.signed == "together":
        return (chance.choice((-1, 1)),) * group.size
    return chance.signs(group.size)
