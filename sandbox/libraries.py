"""The libraries that a program may import, by name: tables that both sides read.

What a program gets of each is made by ``language``, which alone imports them.
"""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path

#: The tables of ``offered.toml``.
TABLES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("offered.toml").read_text("utf-8")
)
OFFERED = TABLES["modules"]

#: Modules of which every public name is offered (but attributes by name of ``operator``).
WHOLE = ("cmath", "math", "numpy.exceptions", "numpy.fft", "numpy.linalg", "operator")

#: Modules of scipy of which a part is offered.
SCIPY = tuple(TABLES["scipy"])

#: With those of which ``language`` makes its own: numpy without files and raw memory, warnings that
#: go nowhere, clocks of each episode.
_ALWAYS = frozenset({*OFFERED, *WHOLE, "numpy", "numpy.lib", "numpy.typing", "time", "warnings"})

#: Looked for once, when this is imported: after the lock-down nothing can be found any more.
_INSTALLED_SCIPY = SCIPY if find_spec("scipy") is not None else ()


def importable_modules(extra: tuple[str, ...] = ()) -> frozenset[str]:
    """Dotted names of what may be imported here, with ``extra`` and all packages around them."""
    modules = (*_INSTALLED_SCIPY, *extra)
    packages = {name[:i] for name in modules for i, c in enumerate(name) if c == "."}
    return _ALWAYS | frozenset(modules) | packages


#: Offered, but not in the list below: callers have written that down.
_UNLISTED = {"scipy.integrate", "scipy.stats"}

#: Environment variables that choose numeric kernels: without them a policy's arithmetic could
#: differ from the host's in the last bit.
KERNEL_VARIABLES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
)

#: What every program may import here, numpy first: for prompts and messages. Libraries are listed
#: as a whole; of scipy, of which there is a part, each module.
ALLOWED_IMPORTS = (
    "numpy",
    *sorted(
        {name for name in _ALWAYS if "." not in name} - {"numpy"}
        | set(_INSTALLED_SCIPY) - _UNLISTED
    ),
)


def needed_libraries(source: str, extra: tuple[str, ...]) -> tuple[str, ...]:
    """Modules to load before the process is locked down, for this source."""
    return (SCIPY if "scipy" in source else ()) + extra
