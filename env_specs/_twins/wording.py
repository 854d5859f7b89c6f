"""How numbers and lists are put into the sentences of the specs, originals and twins alike."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float) -> str:
    """A number without needless digits: 0.7, 200, 0.008."""
    return f"{value:.6g}"


def numbers(values: Sequence[float]) -> str:
    """Numbers in brackets, as a tuple reads: (0, 0.5)."""
    return f"({', '.join(map(number, values))})"


def listing(items: Sequence[str]) -> str:
    """Items with their indices: 0 hip, 1 knee."""
    return ", ".join(f"{index} {item}" for index, item in enumerate(items))


def either(values: Sequence[float], unit: str) -> str:
    """One number where all are equal, else all in their order: 200 N m; 80, 150, 120 N m."""
    same = len(set(values)) == 1
    return f"{number(values[0]) if same else ', '.join(map(number, values))} {unit}"


def which(indices: Sequence[int]) -> str:
    """Indices in a sentence: 0; 0 and 2; 0, 2 and 3."""
    words = [str(index) for index in indices]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def directions(
    signs: Sequence[int], subject: str, up: str, down: str, indices: Sequence[int] = ()
) -> str:
    """What a positive number does where signs differ.

    ``subject`` is as "a positive joint angle swings": its own words where all signs are equal,
    with the indices for which it holds where they are not; 0, 1, 2 where ``indices`` is empty.
    """
    if len(set(signs)) == 1:
        return f"{subject} {up if signs[0] > 0 else down}"
    pairs = list(zip(indices or range(len(signs)), signs, strict=True))
    ups = [index for index, sign in pairs if sign > 0]
    downs = [index for index, sign in pairs if sign < 0]
    return f"{subject} {up} for {which(ups)}, and {down} for {which(downs)}"


def decimal(value: float) -> str:
    """A number with at least one decimal: 1.0, -0.1, 0.05."""
    text = f"{value:.3f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text
