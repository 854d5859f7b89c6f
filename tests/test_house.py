"""Which room of promptpo may import which; no circles; modules and functions of a readable size.

A room is a package or a module at the top of ``promptpo``.
"""

import ast
import runpy
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import promptpo

FOLDER = Path(promptpo.__file__).parent
HOUSE = ("promptpo", "sandbox", "env_specs", "benchmarks", "examples")

#: From the top down: a room may import those on floors below its own, and no other.
FLOORS = (
    {"__main__"},
    {"cli"},
    {"api", "video"},
    {"evaluation", "matrix", "view"},
    {"checks", "comparison", "trackers"},
    {"report"},
    {"run"},
    {"export", "methods", "ui"},
    {"builtin", "prompts", "rollout", "store"},
    {"tuning"},
    {"policies", "racing"},
    {"llm", "spec"},
    {"config", "types"},
    {"outcomes"},
    {"common"},
    {"errors", "presets", "stats", "version"},
)
FLOOR = {room: len(FLOORS) - number for number, rooms in enumerate(FLOORS) for room in rooms}


def imports(folder):
    """Each module of the package with those of it that it imports, wherever in its text.

    What only type checkers see does not count. Importing a module of another package is importing
    that package too, as Python does.
    """
    paths = {path.relative_to(folder.parent).with_suffix(""): path for path in folder.rglob("*.py")}
    modules = {".".join(name.parts).removesuffix(".__init__"): p for name, p in paths.items()}
    found = {m: set(imported(ast.parse(p.read_text()), modules)) for m, p in modules.items()}
    return {
        module: {package for other in others for package in packages(other, module)} - {module}
        for module, others in found.items()
    }


def imported(node, modules):
    match node:
        case ast.If(ast.Name("TYPE_CHECKING"), _, otherwise):
            node = ast.Module(otherwise, [])
        case ast.Import(names):
            yield from (name.name for name in names if name.name in modules)
        case ast.ImportFrom(_, _, level) if level:
            raise AssertionError("imports are absolute here")
        case ast.ImportFrom(module, names) if module in modules:
            inner = (f"{module}.{name.name}" for name in names)
            yield from (name if name in modules else module for name in inner)
    for child in ast.iter_child_nodes(node):
        yield from imported(child, modules)


def packages(module, importer):
    """A module, and the packages that it lies in and the importer does not."""
    while module not in ("promptpo", "") and not importer.startswith(f"{module}."):
        yield module
        module = module.rpartition(".")[0]


def room(module):
    return module.split(".")[1]


def circle(graph):
    """Modules that import each other in a circle, the first one also last; or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def trespasses(graph):
    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if module != "promptpo" and room(module) != room(other)
        if FLOOR[room(module)] <= FLOOR[room(other)]
    ]


def test_no_modules_import_each_other_in_a_circle():
    assert circle(imports(FOLDER)) is None


def test_rooms_import_only_what_is_below_them():
    assert trespasses(imports(FOLDER)) == []


def test_every_room_has_its_floor():
    rooms = {p.parent.name for p in FOLDER.glob("*/*.py")} | {p.stem for p in FOLDER.glob("*.py")}
    assert rooms - {"__init__"} == set(FLOOR)


@pytest.mark.parametrize(
    "line",
    [
        "import promptpo.run.start",
        "from promptpo.run.start import execute",
        "from promptpo.run import start",
        "def lazily():\n    from promptpo.run import start",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from promptpo.run import start",
    ],
)
def test_any_way_to_import_counts(tmp_path, line):
    graph = written(tmp_path, {"store/log": line, "run/start": "import promptpo.store.log"})

    assert set(circle(graph)) == {"promptpo.store.log", "promptpo.run.start"}
    assert "promptpo.store.log imports promptpo.run.start" in trespasses(graph)


def test_importing_a_module_is_importing_its_package(tmp_path):
    graph = written(
        tmp_path,
        {
            "llm/__init__": "import promptpo.spec.task",
            "llm/wire": "",
            "spec/__init__": "",
            "spec/task": "import promptpo.llm.wire",
        },
    )
    assert set(circle(graph)) == {"promptpo.llm", "promptpo.spec.task"}


def written(folder, modules):
    for name, text in {"__init__": "", **modules}.items():
        module = folder / "promptpo" / f"{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        (module.parent / "__init__.py").touch()
        module.write_text(text)
    return imports(folder / "promptpo")


def sources(*folders):
    """Each module of the folders, by its name, with its text."""
    paths = [p for folder in folders for p in (FOLDER.parent / folder).rglob("*.py")]
    names = [".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) for path in paths]
    return {n: path.read_text() for n, path in zip(names, paths, strict=True)}


def test_no_module_has_more_than_500_lines():
    lines = {name: len(text.splitlines()) for name, text in sources(*HOUSE).items()}
    assert {name: count for name, count in lines.items() if count > 500} == {}


#: Small modules that only a neighbour imports: chance and time, which patches whole libraries.
SMALL = {"sandbox.language.randomness"}


def test_no_small_module_serves_only_a_neighbour():
    """A module below 80 lines of code is a part of the only module of its package that needs it."""
    lines_of_code = runpy.run_path(str(FOLDER.parent / "benchmarks" / "size.py"))["lines_of_code"]
    graph = imports(FOLDER) | imports(FOLDER.parent / "sandbox")
    lonely = set()
    for name, text in sources("promptpo", "sandbox").items():
        importers = [module for module, others in graph.items() if name in others]
        package = name.rpartition(".")[0]
        if len(importers) == 1 and lines_of_code(text) < 80:
            (importer,) = importers
            if package in (importer, importer.rpartition(".")[0]):
                lonely.add(name)
    assert lonely - SMALL == set()


def test_functions_fit_a_screen():
    long = {
        f"{name}.{node.name}": node.end_lineno - node.lineno + 1
        for name, text in sources("promptpo", "sandbox", "benchmarks", "examples").items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in long.items() if lines > 60} == {}
