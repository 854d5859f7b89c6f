"""Ids that Gymnasium knows: which there are, and the source of a spec for one of them."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from promptpo.spec.authoring.definition import UnknownMember, Unsuitable
from promptpo.spec.running.explanation import one_line
from promptpo.spec.writing.module import spec_source

#: Package -> what brings it.
_EXTRAS = {
    "Box2D": "promptpo[box2d]",
    "minigrid": "promptpo[minigrid]",
    "gymnasium_robotics": "promptpo[pointmaze]",
}


def registered_ids() -> list[str]:
    """The ids that Gymnasium registers itself, its adapters for older environments left out."""
    import gymnasium

    return sorted(
        name
        for name, entry in gymnasium.registry.items()
        if str(entry.entry_point).startswith("gymnasium.envs") and not name.startswith("GymV")
    )


def registered_source(env_id: str, *, draft: bool) -> str:
    """The source of a spec for an id, which may be ``package:id``; see ``spec_source``.

    Raises:
        UnknownMember: there is no such id.
        Unsuitable: a package is missing, or its observations or actions do not fit.
    """
    with _made(env_id) as env:
        module = str(getattr(env.spec, "entry_point", ""))
        return spec_source(env, env_id, draft=draft, install=_install_of(env_id, module))


@contextlib.contextmanager
def _made(env_id: str) -> Iterator[Any]:
    import gymnasium

    package, colon, _ = env_id.rpartition(":")
    if not colon and env_id not in gymnasium.registry:
        raise UnknownMember(env_id)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            env = gymnasium.make(env_id, disable_env_checker=True)
    except gymnasium.error.UnregisteredEnv as error:
        raise UnknownMember(env_id) from error
    except Exception as error:
        entry = gymnasium.registry.get(env_id)
        lacking = _missing(error, package, str(entry.entry_point if entry else ""))
        if lacking is None:
            raise Unsuitable(f"the environment does not construct: {one_line(error)}") from error
        name, install = lacking
        raise Unsuitable(
            f"the package {name!r} is not installed; run: pip install '{install}'"
        ) from error
    try:
        yield env
    finally:
        env.close()


def _missing(error: Exception, package: str, entry: str) -> tuple[str, str] | None:
    """The package that an error says is missing, and what brings it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            name = cause.name.partition(".")[0]
            return name, _EXTRAS.get(name, name)
        cause = cause.__cause__ or cause.__context__
    if type(error).__name__ == "DependencyNotInstalled":
        return package or "gymnasium", _install_of(package, entry) or "gymnasium[all]"
    return None


def _install_of(env_id: str, entry_point: str) -> str:
    """What brings the packages of an environment beyond those that promptpo needs itself."""
    if "box2d" in entry_point:
        return _EXTRAS["Box2D"]
    package = env_id.rpartition(":")[0] or entry_point.partition(".")[0]
    return _EXTRAS.get(package, "")
