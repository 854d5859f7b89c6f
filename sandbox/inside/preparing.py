"""A program whose ``prepare`` runs: once, on what was recorded."""

from __future__ import annotations

import mmap

import numpy as np

from sandbox.errors import CompileError, PolicyError, ProgramError
from sandbox.inside.actions import shown
from sandbox.inside.program import Program, Task
from sandbox.inside.recorded import RecordedData
from sandbox.language import Randomness, readable, roots, shortened
from sandbox.language.library import Loaded
from sandbox.prepared import MAX_VALUES, Value, pack

_FUNCTION = "prepare"
_WANTED = "prepare() must return a dict of numbers, arrays of numbers and short strings, by name"


class PrepareProgram(Program):
    """A program with a function ``prepare`` at its top level."""

    def __init__(self, task: Task, libraries: Loaded, recorded: mmap.mmap | None) -> None:
        """``recorded``: pages of a file of ``sandbox.write_recorded``; None: no episode."""
        super().__init__(task, libraries)
        self._recorded = recorded

    def prepare(self, seed: int) -> bytes:
        """What it returns, packed; its generators start from ``seed``.

        Raises:
            ProgramError: it fails, or returns something else.
        """
        try:
            return _packed(self._run(seed))
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error) from None

    def _run(self, seed: int) -> object:
        randomness = Randomness(seed)
        roots.provide(lambda: randomness)
        namespace = self.execute(randomness)
        self.find(namespace, self.task.interface.policy_class, "act")
        function = namespace.get(_FUNCTION)
        if not callable(function):
            raise CompileError("the program must define `def prepare(data):` at its top level")
        return function(RecordedData(self.task.interface, self.observe, self._recorded))


def _packed(returned: object) -> bytes:
    """No code of the values' classes runs here."""
    if type(returned) is not dict:
        raise PolicyError(f"{_WANTED}; not {shown(returned, 'prepare()')}")
    if len(returned) > MAX_VALUES:
        raise PolicyError(
            f"prepare() returned {len(returned)} values; at most {MAX_VALUES} are kept"
        )
    values = {_name(name): _value(name, value) for name, value in returned.items()}
    try:
        return pack(values)
    except ValueError as error:
        raise PolicyError(f"prepare() returned what cannot be kept: {error}") from None


def _name(name: object) -> str:
    if type(name) is not str:
        raise PolicyError(f"{_WANTED}; a name in it is {shown(name, 'prepare()')}")
    return readable(name)


def _value(name: str, value: object) -> Value:
    """``value`` if it can be packed, or the array of what it lists."""
    if type(value) in (float, int, bool, str, np.ndarray) or isinstance(value, np.generic):
        known: Value = str.__str__(value) if isinstance(value, np.str_) else value  # type: ignore[assignment]
        return known
    if type(value) in (list, tuple):
        try:
            array = np.asarray(value)
        except Exception:  # ragged, or hostile
            array = None
        if type(array) is np.ndarray and array.dtype.kind in "fiub":
            made: Value = array
            return made
        raise PolicyError(
            f"prepare() returned {shortened(name)!r}: {shown(value, 'prepare()')} that is no array"
            " of real numbers; give texts, and rows of different lengths, names of their own"
        )
    raise PolicyError(
        f"prepare() returned {shortened(name)!r}: {shown(value, 'prepare()')}; make it a number,"
        " an array of real numbers or a short string (of a dict, give each entry a name of its own)"
    )
