"""What is offered for import, what is listed, and that the two are the same."""

import pytest
from restricted import run_restricted

import sandbox
from sandbox.language import importable


@pytest.mark.parametrize("module", sandbox.ALLOWED_IMPORTS)
def test_what_is_listed_can_be_imported(module):
    namespace, _ = run_restricted(f"import {module} as found")

    assert repr(namespace["found"]) == f"<module {module!r}>"


def test_nothing_that_is_offered_is_left_out_of_the_list():
    listed = set(sandbox.ALLOWED_IMPORTS)

    unlisted = {name for name in importable().modules if name not in listed}

    # Of these the list names the whole (numpy, collections) or each part (scipy).
    assert {name for name in unlisted if name.partition(".")[0] not in listed} == {"scipy"}
