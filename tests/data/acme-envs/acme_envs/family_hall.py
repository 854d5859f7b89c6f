"""Halls of any length from 3 to 9."""

from promptpo.spec import UnknownMember

EXAMPLE = "6"
INSTALL = "acme-envs"


def members():
    return [str(length) for length in range(3, 10)]


def source(member):
    if member not in members():
        raise UnknownMember(member)
    return f'''"""Hall {member}: walk to the end of {member} cells."""

from dataclasses import replace

from .aisle import SPEC as AISLE
from .floor import Floor

SPEC = replace(AISLE, make=lambda: Floor({member}), reward_tolerance=None)
'''
