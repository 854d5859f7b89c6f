"""What a policy has learned, as an exported module states it: read back to the same bytes."""

import ast
import inspect
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
from promptpo.export.learned import BESIDE, FEW, Learned, npz
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


def arrays(values):
    """What tells values from others: type, dtype, shape and bytes."""
    return {
        name: (type(v).__name__, *(getattr(v, k, "") for k in ("dtype", "shape")),
               v.tobytes() if isinstance(v, np.ndarray) else repr(v))
        for name, v in values.items()
    }  # fmt: skip


@pytest.mark.parametrize("values", [ODD, LARGE, {}], ids=["odd", "large", "none"])
def test_values_are_read_back_without_the_module_which_itself_defines_them_too(values, tmp_path):
    """The module in an interpreter with neither promptpo nor what ``prepare`` alone needs."""
    file = PolicyFile.read(written(tmp_path, values))
    assert file.learned == Learned(sandbox.pack(values), 4, 132, 0.0213)
    script = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        for name in ("promptpo", "sandbox", "scipy", "scipy.optimize"):
            sys.modules[name] = None
        import numpy as np
        from policy import PREPARED, Policy
        assert not any(getattr(v, "flags", None) and v.flags.writeable for v in PREPARED.values())
        assert not hasattr(PREPARED, "update")
    """)
    script += inspect.getsource(arrays) + "sys.stdout.buffer.write(repr(arrays(PREPARED)).encode())"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == repr(arrays(sandbox.unpack(sandbox.pack(values))))


def test_up_to_200_numbers_stand_in_the_module_and_more_beside_it():
    few, many = (module_of({"x": np.arange(float(n))}) for n in (FEW, FEW + 1))
    assert few[1].beside is None
    assert max(map(len, few[0].splitlines())) <= 100
    assert BESIDE in many[0]
    with np.load(io.BytesIO(many[1].beside), allow_pickle=False) as stored:
        assert stored["x"].tolist() == list(range(FEW + 1))


def test_the_policy_is_taken_out_of_its_module_with_all_that_prepare_needs():
    module, _ = module_of(ODD)
    part = policy_part(module)
    assert ast.dump(ast.parse(policy_part(part))) == ast.dump(ast.parse(part))
    assert "from scipy import optimize" in part
    assert "PREPARED" not in part
    assert re.search(r"^from scipy", module, re.MULTILINE) is None
    assert module.count("import numpy as np") == 1


def test_names_of_values_and_of_the_policy_do_not_clash(tmp_path):
    plain = SOURCE.replace("self, prepared", "self").replace('prepared["gain"]', "[1.0]")
    assert "Stands alone: Policy().act" in module_of({"x": 1.0}, plain)[0]
    assert "PREPARED_ = _prepared_()" in module_of({}, SOURCE + "\nPREPARED = 3\n")[0]
    odd_ones = (
        (ODD, SOURCE + '\nPREPARED = {"gain": 1}\n'),
        ({"word": f"{MARKER}\nclass Policy: pass", "gain": np.ones(4)}, SOURCE),
    )
    for values, source in odd_ones:
        file = PolicyFile.read(written(tmp_path, values, source))
        assert file.prepared == sandbox.pack(values)
        assert "self.gain" in file.source


def test_values_may_be_written_by_hand_and_other_policies_have_none(tmp_path):
    file = tmp_path / "mine.py"

    def prepared(text):
        file.write_text(text)
        return PolicyFile.read(file).prepared

    values = prepared(SOURCE + '\nPREPARED = {"gain": np.array([1, 2.5]), "on": True}\n')
    assert sandbox.unpack(values)["gain"].tolist() == [1.0, 2.5]
    policy = "class Policy:\n    def act(self, obs):\n        return 0\n"
    assert prepared(f'PREPARED = {{"rows": [[1, 2]]}}\n\n\n{policy}') == b""
    assert prepared(SOURCE.replace("self, prepared", "self")) == b""
    with pytest.raises(UsageError, match=r"PREPARED.*--model file:\S+mine\.py") as e:
        prepared(SOURCE)
    assert "\n" not in str(e.value)


NO_VALUES = {
    "no number": "open('x')|np.array(['a'])|np.zeros((10**9,))|10 ** 10|[1.0]|1 << 70|None",
    "no array": "np.array([1, [2]])",
    "64 bits": str(1 << 70),
}


@pytest.mark.parametrize("says", NO_VALUES)
def test_what_is_no_value_is_refused_with_its_line(says, tmp_path):
    file = tmp_path / "mine.py"
    for value in NO_VALUES[says].split("|"):
        file.write_text(f'{SOURCE}\nPREPARED = {{"gain": {value}}}\n')
        line = SOURCE.count("\n") + 2
        with pytest.raises(UsageError, match=rf"^\S+mine\.py:{line}: .*{says}.*$"):
            _ = PolicyFile.read(file).prepared


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
