"""Which names a program may use: the one place for renaming, refusals and allow-lists.

Names with a leading underscore are not refused but renamed: ``_gains`` gets a prefix wherever it
stands (variables, attributes, parameters, keywords, methods, and the strings that reach getattr and
friends). A program therefore keeps all of its own private names, and can spell none of anybody
else's: no attribute of a library or of the interpreter begins with that prefix, and a program that
contains its character in a name is refused. The guards that the compiler inserts carry the same
prefix, so that no variable or parameter can shadow them.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Latin letter dental click: valid in identifiers, unchanged by NFKC, in no library's names.
PREFIX = "\u01c0"


def words(text: str) -> tuple[str, ...]:
    """Return the words of a list that is written as text."""
    return tuple(text.split())


def by_name(table: Mapping[str, str]) -> dict[str, str]:
    """Return the hint for each name of a table that lists names behind each hint."""
    return {name: hint for hint, listed in table.items() for name in listed.split()}


#: Names with an underscore that are public interfaces: the throw-away variable, those of named
#: tuples, those of enums (each names a value, a hook or an order of the program's own enum).
KEPT = words(
    "_ _replace _asdict _fields _make "
    "_missing_ _value_ _name_ _generate_next_value_ _ignore_ _order_"
)
#: Names of classes whose values hold names; they are written out in the class body.
LISTED = words("__slots__ _ignore_")

_OPERATORS = words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor")
_METHODS = words(
    "init post_init call len iter next reversed contains getitem setitem delitem missing enter "
    "exit repr str format hash bool eq ne lt le gt ge neg pos abs invert round floor ceil trunc "
    "length_hint"
)
#: Special methods that a class may define, and anybody may call by name: each does what an
#: operator, a builtin or a statement does anyway. Left out are those which run behind the back of
#: trusted code (finalizers, attribute and class hooks, pickling, numeric and array conversion).
DEFINABLE = frozenset(
    {f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i")}
    | {f"__{name}__" for name in _METHODS}
)
#: Dunder attributes that may be read besides the definable ones (``__class__`` through a guard).
READABLE = DEFINABLE | {"__name__", "__qualname__", "__doc__", "__members__"}

#: ``__name__`` of every program.
MODULE = "policy"

#: Attributes that are refused on every object, with the reason and the remedy.
REFUSED_ATTRIBUTES = by_name(
    {
        "it reaches the interpreter's internals; policies do without": """
            tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_generator f_globals
            f_lasti f_lineno f_locals f_trace gi_frame gi_code gi_yieldfrom gi_running
            gi_suspended cr_await cr_frame cr_code cr_origin ag_await ag_frame ag_code co_code
            co_consts co_names func_globals func_code func_dict func_defaults func_closure
            with_traceback cell_contents fget fset fdel""",
        "a policy has no files; keep the values in attributes of self": "tofile fromfile memmap",
        "it reaches into raw memory; use indexing, slicing, astype() or copy()": """
            ctypes cffi capsule construct_fast as_strided getfield setfield setflags newbyteorder
            bit_generator getbuffer_info""",
        "write an f-string": "format_map",
        "write `with np.errstate(...):` around the expression": "seterrcall",
    }
)

#: Attributes that are harmless on most objects; a read of one is a call of ``guards.read``.
GUARDED = words("format mro")

#: Builtins that do not exist here, with what to write instead.
REFUSED_BUILTINS = by_name(
    {
        "a policy reads nothing but its observation": "open input",
        "write the code itself": "exec eval compile",
        "use attributes of self or a dict of your own": "globals locals vars",
        "return an action instead": "exit quit",
        "use print(); its output is shown to you": "breakpoint help",
        "use numpy arrays": "memoryview",
    }
)

#: Characters of a name that messages show.
_SHOWN = 80


def is_dunder(name: str) -> bool:
    """Tell ``__x__`` from ``x``, ``_x`` and ``__x``."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def renamed(name: str, class_name: str = "") -> str:
    """Return the name under which a program's own ``name`` is kept; most are kept as they are.

    ``class_name`` is the innermost class around it: ``__x`` is mangled with it as Python does.
    """
    if not name.startswith("_") or name in KEPT or is_dunder(name):
        return name
    owner = class_name.lstrip("_")
    if owner and name.startswith("__") and not name.endswith("__"):
        return f"{PREFIX}_{owner}{name}"
    return PREFIX + name


def shortened(text: str) -> str:
    """Return a name for a message: names may be as long as the source."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def readable(text: str) -> str:
    """Return a text for people and models: renamed names as they were written."""
    return text.replace(PREFIX, "")
