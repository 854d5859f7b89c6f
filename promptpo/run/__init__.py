"""A run from its start to its end, whatever its method: settings, services, limits, phases."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpo.run.outcome import Result
    from promptpo.run.start import carry_out

__all__ = ["Result", "carry_out"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - imported on first use: the rest is heavy
    from importlib import import_module

    homes = {"Result": "promptpo.run.outcome", "carry_out": "promptpo.run.start"}
    if name not in homes:
        raise AttributeError(f"module 'promptpo.run' has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)
