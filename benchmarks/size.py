"""Count the lines of code of each package: no blank lines, comments or docstrings.

python benchmarks/size.py [FOLDER ...]
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

#: Lines of peers by the same count, in November 2026.
PEERS = {
    "OpenEvolve": 6_800,
    "Stable-Baselines3": 8_700,
    "SMAC": 10_700,
    "GEPA": 15_200,
    "Optuna": 24_600,
}
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    """Return the number of lines that hold code."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            code -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(code)


def main() -> None:
    """Print lines and modules by package, and their sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="*", default=["promptpo", "sandbox"], metavar="FOLDER")
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for folder in map(Path, parser.parse_args().folders):
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).parts
            package = str(folder / inside[0]) if len(inside) > 1 else str(folder)
            lines[package] += lines_of_code(path.read_text("utf-8"))
            modules[package] += 1
    for package in sorted(lines):
        print(f"{lines[package]:7,} lines {modules[package]:4} modules  {package}")
    print(f"{lines.total():7,} lines {modules.total():4} modules  in all")
    print("peers:", ", ".join(f"{name} {count:,}" for name, count in PEERS.items()))


if __name__ == "__main__":
    main()
