import pytest

from promptpo.bench.suite import (
    Cell,
    Entrant,
    Published,
    Scale,
    Suite,
    read_suite,
    write_suite,
)
from promptpo.errors import RunError

SUITE = Suite(
    "small",
    "two methods",
    ("cartpole",),
    (0, 1),
    {"max_env_steps": 1000},
    (Entrant("random", {"method": "random-search"}),),
    {"cartpole": Scale("return", 20.0, 500.0, "its limit")},
    (Published("cartpole", "R2PO", 500.0, "return", "arXiv 2605.08315"),),
    {"pong": "no spec"},
)


def test_what_is_written_is_read(tmp_path):
    cells = [Cell("random", "cartpole", 0, "random/cartpole/1"), Cell("random", "cartpole", 1)]
    write_suite(tmp_path, SUITE, cells)

    assert read_suite(tmp_path) == (SUITE, cells)


@pytest.mark.parametrize("text", ["", "[]", '{"suite": {}, "cells": []}'])
def test_what_is_no_suite_is_told_in_a_line(tmp_path, text):
    (tmp_path / "suite.json").write_text(text)

    with pytest.raises(RunError, match="not what promptpo writes"):
        read_suite(tmp_path)
