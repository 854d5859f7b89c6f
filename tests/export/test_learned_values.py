"""What a policy has learned, as an exported module states it: read back to the same bytes."""

import ast
import io
import re
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import sandbox
from promptpo.errors import UsageError
from promptpo.export.learned import BESIDE, FEW, Learned, argument, name_in, npz
from promptpo.export.policy_file import PolicyFile
from promptpo.export.policy_module import MARKER, BestPolicy, policy_part
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key

SOURCE = '''
import numpy as np
from scipy import optimize
from math import tanh

BOUNDS = 3.0


def fitted(data):
    return optimize.minimize_scalar(lambda x: (x - BOUNDS) ** 2).x


def prepare(data):
    return {"gain": np.ones(4) * fitted(data)}


class Policy:
    """Pushes as it has learned."""

    def __init__(self, prepared):
        self.gain = prepared["gain"]

    def act(self, obs):
        return int(tanh(self.gain[0]) * obs.pole_angle > 0)
'''

ODD = {
    "gain": np.array([1.5, -0.0, np.nan, -np.inf, 1e-300, 0.1 + 0.2]),
    "mass": 1.25,
    "none": float("nan"),
    "most": -(1 << 63),
    "on": True,
    "word": 'quo"tes\\ and\nlines',
    "a name with/odd 'signs'": np.array([[1, -2], [3, 4]]),
    "flags": np.array([True, False]),
    "point": np.array(2.0),
    "empty": np.zeros((0, 4)),
    "deep": np.arange(24.0).reshape(2, 3, 4) / 7,
}

LARGE = {"table": np.random.default_rng(0).random((21, 11)), "x.npy": np.arange(3), "mass": 0.5}


def module_of(values, source=SOURCE):
    learned = Learned(sandbox.pack(values), 4, 132, 0.0213)
    candidate = Candidate(Key(1, 1), source)
    best = BestPolicy(load_spec("cartpole"), candidate, None, "run", learned=learned)
    return best.module, learned


def written(folder, values, source=SOURCE):
    module, learned = module_of(values, source)
    if learned.beside is not None:
        (folder / BESIDE).write_bytes(learned.beside)
    (folder / "policy.py").write_text(module, encoding="utf-8")
    return folder / "policy.py"


@pytest.mark.parametrize("values", [ODD, LARGE, {}], ids=["odd", "large", "none"])
def test_values_are_read_back_as_they_were_without_running_the_module(values, tmp_path):
    file = PolicyFile.read(written(tmp_path, values))
    assert file.prepared == sandbox.pack(values)
    assert file.learned == Learned(sandbox.pack(values), 4, 132, 0.0213)


@pytest.mark.parametrize("values", [ODD, LARGE], ids=["odd", "large"])
def test_the_module_itself_defines_the_same_values_read_only_and_imports_nothing_for_prepare(
    values, tmp_path
):
    """In an interpreter where neither promptpo nor what ``prepare`` alone needs is there."""
    written(tmp_path, values)
    script = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        for name in ("promptpo", "sandbox", "scipy", "scipy.optimize"):
            sys.modules[name] = None
        import numpy as np
        from policy import PREPARED, Policy
        for value in PREPARED.values():
            assert not isinstance(value, np.ndarray) or not value.flags.writeable
        try:
            PREPARED["more"] = 1
        except TypeError:
            pass
        else:
            raise SystemExit("written to")
        sys.stdout.buffer.write(repr({
            name: (type(v).__name__, getattr(v, "dtype", ""), getattr(v, "shape", ""),
                   v.tobytes() if isinstance(v, np.ndarray) else repr(v))
            for name, v in PREPARED.items()
        }).encode())
    """)
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = {
        name: (
            type(v).__name__, getattr(v, "dtype", ""), getattr(v, "shape", ""),
            v.tobytes() if isinstance(v, np.ndarray) else repr(v),
        )
        for name, v in sandbox.unpack(sandbox.pack(values)).items()
    }  # fmt: skip
    assert done.stdout == repr(expected)


def test_up_to_200_numbers_stand_in_the_module_and_more_beside_it():
    few, many = ({"x": np.arange(float(n))} for n in (FEW, FEW + 1))
    assert module_of(few)[1].beside is None
    module, learned = module_of(many)
    assert BESIDE in module
    with np.load(io.BytesIO(learned.beside), allow_pickle=False) as stored:
        assert stored["x"].tolist() == list(range(FEW + 1))
    assert max(map(len, module_of(few)[0].splitlines())) <= 100


def test_the_header_says_what_was_learned_from_what():
    words = " ".join(module_of({"gain": np.ones(4), "mass": 2.0})[0].split())
    assert (
        "Learned by its prepare(data): gain, mass (5 numbers) from 132 transitions of 4 search"
        " episodes, in 0.0213 s of computing." in words
    )
    assert "Policy(PREPARED).act(" in words


def test_the_policy_is_taken_out_of_its_module_with_all_that_prepare_needs():
    module, _ = module_of(ODD)
    part = policy_part(module)
    assert ast.dump(ast.parse(policy_part(part))) == ast.dump(ast.parse(part))
    assert "from scipy import optimize" in part
    assert "PREPARED" not in part
    assert re.search(r"^from scipy", module, re.MULTILINE) is None
    assert module.count("import numpy as np") == 1


def test_a_policy_that_takes_nothing_is_made_without_and_one_that_has_the_name_keeps_it():
    plain = SOURCE.replace("self, prepared", "self").replace('prepared["gain"]', "[1.0]")
    assert "Stands alone: Policy().act" in module_of({"x": 1.0}, plain)[0]
    named = SOURCE + "\nPREPARED = 3\n"
    assert name_in(named) == "PREPARED_"
    assert argument(named, Learned(sandbox.pack({}))) == "PREPARED_"
    assert "PREPARED_ = _prepared_()" in module_of({}, named)[0]


def test_values_that_people_write_into_a_file_of_their_own_count(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOURCE + '\nPREPARED = {"gain": np.array([1, 2.5]), "on": True}\n')
    assert sandbox.unpack(PolicyFile.read(file).prepared)["gain"].tolist() == [1.0, 2.5]


def test_a_policy_s_own_table_of_that_name_is_none_of_it(tmp_path):
    policy = "class Policy:\n    def act(self, obs):\n        return 0\n"
    (tmp_path / "own.py").write_text(f'PREPARED = {{"rows": [[1, 2]]}}\n\n\n{policy}')
    assert PolicyFile.read(tmp_path / "own.py").prepared == b""
    file = written(tmp_path, ODD, SOURCE + '\nPREPARED = {"gain": 1}\n')
    assert PolicyFile.read(file).prepared == sandbox.pack(ODD)


def test_a_text_among_the_values_is_no_line_of_the_module(tmp_path):
    values = {"word": f"{MARKER}\nclass Policy: pass", "gain": np.ones(4)}
    file = PolicyFile.read(written(tmp_path, values))
    assert file.prepared == sandbox.pack(values)
    assert "self.gain" in file.source


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("open('x')", "no number"),
        ("np.array([1, [2]])", "no array"),
        ("np.array(['a'])", "no number"),
        ("np.zeros((10**9,))", "no number"),
        ("10 ** 10", "no number"),
        ("[1.0]", "no number"),
        ("1 << 70", "no number"),
        (str(1 << 70), "64 bits"),
        ("None", "no number"),
    ],
)
def test_what_is_no_value_is_refused_with_its_line(value, says, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(f'{SOURCE}\nPREPARED = {{"gain": {value}}}\n')
    with pytest.raises(UsageError, match=rf"mine\.py:{SOURCE.count(chr(10)) + 2}: .*{says}") as e:
        _ = PolicyFile.read(file).prepared
    assert "\n" not in str(e.value)


def test_a_file_with_prepare_and_no_values_says_what_is_missing_and_what_to_do(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    with pytest.raises(UsageError, match=r"PREPARED.*--model file:\S+mine\.py") as e:
        _ = PolicyFile.read(file).prepared
    assert "\n" not in str(e.value)
    file.write_text(SOURCE.replace("self, prepared", "self"))
    assert PolicyFile.read(file).prepared == b""


def zipped(members, **given):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content, **given)
    return buffer.getvalue()


def npy(header, content=b""):
    """An array's file that says what it likes of itself."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + content


def pickled():
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([SystemExit], dtype=object), allow_pickle=True)
    return buffer.getvalue()


HUGE = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
TABLE_NPY = npy({**HUGE, "shape": (2,)}, bytes(16))
TABLE = npz({"table": LARGE["table"]})

HOSTILE = {
    "missing": (None, "no such file"),
    "no archive": (b"not a zip at all", "damaged"),
    "cut": (TABLE[:-40], "damaged"),
    "altered": (TABLE[:200] + b"\x00\x01\x02\x03" + TABLE[204:], "damaged"),
    "a pickle": (zipped([("table.npy", pickled())]), "damaged .Object arrays"),
    "structured": (
        zipped([("table.npy", npy({**HUGE, "descr": [("a", "<f8")], "shape": (2,)}, bytes(16)))]),
        "no array of numbers",
    ),
    "says that it is huge": (zipped([("table.npy", npy(HUGE))]), "damaged"),
    "a bomb": (zipped([("table.npy", bytes(64 << 20))]), "larger than 4 MiB"),
    "many": (zipped([(f"{i}.npy", b"") for i in range(1001)]), "1001 files"),
    "no array": (zipped([("table.npy", TABLE_NPY), ("x.txt", b"")]), "'x.txt' in it is no array"),
    "packed without a limit": (
        zipped([("table.npy", TABLE_NPY)], compress_type=zipfile.ZIP_BZIP2),
        "not read",
    ),
    "of other names": (npz({"other": np.ones(3)}), "no array 'table'"),
    "very large": (bytes(9 << 20), "larger than 8 MiB"),
}


@pytest.mark.parametrize(("content", "says"), HOSTILE.values(), ids=HOSTILE)
def test_a_damaged_or_hostile_file_beside_a_policy_is_refused_in_a_line(content, says, tmp_path):
    file = written(tmp_path, LARGE)
    beside = tmp_path / BESIDE
    beside.unlink()
    if content is not None:
        beside.write_bytes(content)
    with pytest.raises(UsageError, match=says) as e:
        _ = PolicyFile.read(file).prepared
    assert str(e.value).startswith(str(beside))
    assert "\n" not in str(e.value)
