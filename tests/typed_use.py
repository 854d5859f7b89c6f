"""What a type checker sees of the library; `mypy tests/typed_use.py` in CI, never imported.

What is right has no error; each line below has the one that is named, or mypy says that its
comment is needless.
"""

import promptpo

RIGHT = [
    lambda: promptpo.optimize("cartpole", rounds=3, sandbox="strict", max_cost=1.5).folder.name,
    lambda: promptpo.compare(promptpo.evaluate("zero", "cartpole")).contrasts[0].p,
    lambda: promptpo.compare("runs/a", promptpo.load_run("runs/b")).save("to"),
    lambda: promptpo.load_run("runs/a").candidates[0].score.mean_return + 1,
    lambda: promptpo.load_run("runs/a").evaluations[0].evaluations[0].episodes[0].return_ + 1,
]

WRONG = [
    lambda: promptpo.optimize("cartpole", rounds="3"),  # type: ignore[arg-type]
    lambda: promptpo.optimize("cartpole", preset="papr"),  # type: ignore[arg-type]
    lambda: promptpo.optimize("cartpole").foldr,  # type: ignore[attr-defined]
    lambda: promptpo.evaluate(3, "cartpole"),  # type: ignore[arg-type]
    lambda: promptpo.evaluate("zero", "cartpole").mean_retrn,  # type: ignore[attr-defined]
    lambda: promptpo.check("cartpole").pased,  # type: ignore[attr-defined]
    lambda: promptpo.compare(3),  # type: ignore[call-overload]
    lambda: promptpo.compare(promptpo.evaluate("zero")).panels,  # type: ignore[attr-defined]
    lambda: promptpo.load_run("runs/a").best.source,  # type: ignore[union-attr]  # may be none
]
