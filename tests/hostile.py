"""Programs that a model might write to whoever only reads them: long, deep, odd."""

SIZE = 60_000
POLICY = "class Policy:\n    def act(self, obs):\n        return 0\n"


def repeated(unit, before="", after="", size=SIZE):
    return before + unit * ((size - len(before) - len(after)) // len(unit)) + after


def numbered(line, count):
    return "".join(line.format(i=i) for i in range(count))


#: What has no end that a reader could wait for, if each part of it is looked at for each other.
LONG = {
    "declarations": numbered("a{i} = tunable(1.5, 0, 3)\n", 4_000),
    "declared in one": repeated("1.5,", "a = tunable([", "], 0, 3)\n"),
    "declared on a line": repeated("a = tunable(1.5, 0, 3); "),
    "numbers": repeated("1.5,", "a = [", "]\n"),
    "numbers after é": repeated("1.5,", "é = [", "]\n"),
    "numbers on lines": numbered("a{i} = 1.5\n", 7_000),
    "numbers by a long key": repeated("1.5,", "a = {'" + "k" * 50_000 + "': [", "]}\n"),
    "numbers of a long name": repeated("1.5,", "a" * 50_000 + " = [", "]\n"),
    "deep numbers": repeated("1.5,", "a = " + "[" * 190, "]" * 190 + "\n"),
    "deep ranges": repeated("a,", "x = " + "range(" * 190 + "[", "]" + ")" * 190 + "\n"),
    "deep indices": repeated("a,", "x = " + "a[" * 190, "]" * 190 + "\n"),
    "sums": repeated("x = " + "a+" * 2_900 + "a\n"),
    "sum": repeated("a+", "x = ", "a\n"),
    "indices": "a" + "[0]" * 900 + " = 1\n",
    "assigned in lists": repeated("a[0][0][0],", "[", "] = b\n"),
    "signs": repeated("-", "x = ", "1\n"),
    "brackets": repeated("(", "x = ", "1\n"),
    "attributes": repeated(".a", "x = a", "\n"),
    "elif": "if a:\n    b\n" + repeated("elif a:\n    b\n"),
    "else if": repeated("a if b else ", "x = ", "c\n"),
    "functions of functions": numbered("def f{i}(): f{i}0\ndef f{i}0(): f{i}1\n", 2_500),
    "bases": numbered("class A{i}(A{i}0, B{i}0): pass\nclass B{i}(A{i}0, B{i}0): pass\n", 1_000)
    + "class Policy(A0): pass\n",
    "chained bases": numbered("class A{i}(C{i}, D{i}): pass\n", 400).replace("C", "A1")
    + "class Policy(A1): pass\n",
    "diamonds": "".join(
        f"class {c}{i}(A{i + 1}, B{i + 1}): pass\n" for i in range(1_000) for c in "AB"
    )
    + "class Policy(A0): pass\n",
    "statements": repeated("a=1;"),
    "imports": repeated("import a;"),
    "imports of one": numbered("import math as a{i}\n", 4_500),
    "formatted": repeated("{a}", 'x = f"', '"\n'),
    "escapes": repeated("'\\d',", "x = [", "]\n"),
    "empty lines": repeated("\n", POLICY, "x = 1"),
    "lines of a space": repeated(" \n", POLICY, "x = 1"),
    "spaces": repeated(" ", POLICY + "x = 1", ""),
    "tabs": repeated("\t", POLICY + "x = 1", ""),
    "lines alike": repeated("x = 1\n"),
    "lines in turn": "".join(f"a{i % 40}\nb{i}\n" for i in range(9_000)),
    "line": repeated("ab ", "# "),
    "words in turn": "x = [" + "".join(f"a{i % 40}, b{i}, " for i in range(8_000)) + "]\n",
    "quotes": repeated("'", "x = ", "\n"),
    "triple quotes": repeated('"""\n'),
    "open docstring": repeated("a\n", 'class Policy:\n    """'),
    "docstring of nothing": repeated("\n", 'class Policy:\n    """', 'x"""\n'),
    "docstring": repeated("word ", 'class Policy:\n    """', '"""\n'),
    "backslashes": repeated("\\", "x = ", "\n"),
    "continued": repeated("\\\n", "x = 1", "\n"),
    "digits": repeated("9", "x = ", "\n"),
    "hex": repeated("f", "x = 0x", "\n"),
    "underscores": repeated("1_", "x = ", "1\n"),
    "name": repeated("a", "", " = 1.5\n"),
    "comments": repeated("# was 1\n"),
    "comment of was": repeated("was 1 ", "x = 1.5  # "),
    "comment of semicolons": repeated("; ", "x = 1.5  # "),
    "decorators": repeated("@a\n", "", POLICY),
    "defaults": numbered("def f{i}(a=1.5, *, b=2.5): a * b\n", 2_800),
    "def": repeated("def \n"),
    "backticks": repeated("`"),
    "fences": repeated("```\n"),
    "words": repeated("a "),
}

#: Short ones, each with something that a reader may not expect.
ODD = {
    "nothing": "",
    "null": "x = 1\0\n",
    "surrogate": "x = '\ud800'\n",
    "escaped surrogate": 'class Policy:\n    """\\ud800"""\n',
    "escape": 'class Policy:\n    """\\x1b[31m\\x00"""\n',
    "byte order mark": "\ufeffx = 1.5\n",
    "form feed": "\x0cx = 1.5\x0c\n\x0cy = 2.5\n",
    "returns": "x = 1.5\ry = 2.5\r\nz = 3.5\n\rw = 4.5",
    "separators": "x = 1.5  # \u2028 y = 2\u0085\x1c\nz = 2.5\n",
    "ligature": "ﬁ = 1.5\nclass Policy:\n    ﬂ = 2.5\n",
    "huge": f"x = {{0x{'f' * 5_000}: 1.5}}; y = 0x{'f' * 400}; z = -0x{'f' * 400}\n",
    "huge declared": f"x = tunable(0x{'f' * 400}, 0, 1)\n",
    "huge bounds": f"x = tunable(1, 0, 0x{'f' * 400})\n",
    "infinite declared": "x = tunable(1e999, 0, 1e999)\n",
    "infinite bounds": "x = tunable(1.0, -1e999, 1e999)\n",
    "large bounds": "x = tunable(1.0, -1.7e308, 1.7e308)\n",
    "small logarithm": "x = tunable(1e-310, 1e-320, 1e300, log=True)\n",
    "narrow": "x = tunable(9007199254740992, 9007199254740992.0, 9007199254740993)\n",
    "narrow logarithm": "x = tunable(2.0, 1.9999999999999998, 2.0, log=True)\n",
    "least": "x = tunable(0, 0, 5e-324); y = 5e-324; z = 1.7e308; w = -1e100\n",
    "many digits": f"x = 0.{'9' * 5_000}; y = tunable(1{'0' * 99}, 0, 1{'0' * 100})\n",
    "complex": "x = 1j; y = -1j; z = tunable(1j, 0, 1)\n",
    "empty declared": "x = tunable([], 0, 1); y = tunable({}, 0, 1)\n",
    "declared twice": "x = tunable(tunable(1, 0, 2), 0, 1)\n",
    "declared of a dict": "x = tunable({'a': 1.5, **b}, 0, [2])\n",
    "declared by words": "x = tunable(1.5, **{'low': 0}, high=2)\n",
    "broken": "class Policy:\n    def act(self:\n",
    "indents": "if a:\n\tb\n        c\n",
    "sign on a line of its own": "x = (-\n1.5)\ny = 2.5\n",
    "async": "async def act(): pass\nclass Policy:\n    async def act(self): pass\n",
    "match": "match a:\n    case {'b': [c, *d]} if e: pass\n    case _: pass\n",
    "star": "class Policy(*a, **b): x: 'y' = 1.5; (z) : int = 2.5; *w, v = 1.5, 2.5\n",
}
HOSTILE = {**LONG, **ODD}
