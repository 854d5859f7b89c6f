"""Every error that promptpo raises on purpose, and the exit code of each.

    PromptPOError               1
    ├── UsageError              2   an option, a configuration key, an argument
    ├── SpecError               3   a spec that cannot be found, imported or built
    ├── ModelError              4   no model, no key, a wrong key, an unknown model
    │   └── ModelUnavailable    5   unreachable, rate-limited or too slow to the end
    ├── RunError                6   a run folder that cannot be read or resumed
    └── IsolationError          7   the sandbox that was asked for cannot be had here

The message is one line: what is wrong, where, and what to do about it.
"""


class PromptPOError(Exception):
    """Base of the tree; ``exit_code`` is what the command line returns."""

    exit_code = 1


class UsageError(PromptPOError):
    """An option, a configuration key or an argument that does not fit."""

    exit_code = 2


class SpecError(PromptPOError):
    """A spec that cannot be found, imported or built."""

    exit_code = 3


class ModelError(PromptPOError):
    """A language model that is not configured: no key, a wrong key, an unknown name."""

    exit_code = 4


class ModelUnavailable(ModelError):
    """A configured language model that did not answer before the deadline."""

    exit_code = 5


class RunError(PromptPOError):
    """A run folder that cannot be read, resumed or replayed."""

    exit_code = 6


class IsolationError(PromptPOError):
    """The sandbox level that was asked for is not available on this machine."""

    exit_code = 7


#: Exit code of a run that Ctrl-C or SIGTERM stopped (128 + SIGINT).
EXIT_INTERRUPTED = 130
