"""Bounds on the texts of language models and their programs: what is read, stored and quoted.

All in characters. What ordinary replies hold is far below each of them.
"""

from __future__ import annotations

#: Bytes of one answer of a provider, or of one reply file: what is larger is not read to its end.
ANSWER_BYTES = 32 << 20

#: A longer reply holds no candidate.
REPLY = 1_000_000

#: A class whose source is longer is no candidate.
SOURCE = 100_000

#: An earlier reply, as a repair prompt quotes it.
QUOTE = 30_000

#: A reflection, as the prompts after it quote it.
REFLECTION = 10_000

#: An error and printed output, as a repair prompt quotes them.
ERROR = 10_000

#: One episode's summary; prompts say so, the sandbox cuts what is longer.
SUMMARY = 1200

#: One line for people: a message of a provider, the gist of an error.
LINE = 300
