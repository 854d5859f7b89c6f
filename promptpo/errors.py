"""Every error that promptpo raises on purpose, and the exit code of each::

    PromptPOError               1
    ├── UsageError              2   an option, a configuration key, an argument
    ├── SpecError               3   a spec that cannot be found, imported or built
    │   ├── EnvironmentFault    3   an environment that failed in a call
    │   └── MissingPackage      3   a spec that lacks nothing but a package
    ├── ModelError              4   no model, no key, a wrong key, an unknown model
    │   ├── ModelUnavailable    5   unreachable, rate-limited or too slow to the end
    │   └── ReplyMissing        4   a recording without the reply that was asked for
    ├── RunError                6   a run folder that cannot be read or resumed
    ├── IsolationError          7   the sandbox does not work here, or not as strictly as asked
    ├── FileError               8   a file that cannot be read or written: full disk, limits, rights
    └── ClusterError            9   a Ray cluster, or a node of it, on which nothing can be played

The message is one line: what is wrong, where, and what to do about it.

What a method meets in its course, and handles::

    Exception
    ├── SearchEnd               the search is over
    │   ├── GoalReached         the target is met, or the patience is at its end
    │   └── LimitReached        cost, tokens, calls, steps or time forbid the next thing
    └── ReplyRejected           a reply that holds no candidate

What an author of a family of specs raises, from ``promptpo.spec``::

    Exception
    ├── UnknownMember           no member of that name
    └── Unsuitable              a member that cannot be a spec, why, and what to do instead

What passes between modules, and becomes one of the first tree or a line of text::

    BaseException
    ├── ProcessExit             a spec that would have ended the process
    ├── TookTooLong             a spec that is still running at its limit
    └── Exception
        ├── BadValue            an environment's value that is not what it must be
        ├── Lost                a watched process that ended before it had answered
        ├── NotInlinable        a function of a spec that cannot be copied out of it
        ├── NotText             a file that is no UTF-8 text
        ├── PartError           a part of a spec that does not fit
        ├── PassingFailure      a provider's failure that a later try may not meet
        ├── TunableError        a constant that a policy declares wrongly
        ├── Unreadable          a program's text that the host cannot read
        └── UnsupportedSpace    a space that has no flat row of numbers
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path


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
    """The sandbox does not work here, or not as strictly as asked."""

    exit_code = 7


class FileError(PromptPOError):
    """A file or stream that cannot be read or written: full disk, limits, rights."""

    exit_code = 8


class ClusterError(PromptPOError):
    """A Ray cluster that cannot be reached, or a node of it on which nothing can be played."""

    exit_code = 9


class SearchEnd(Exception):
    """The search is over; says why."""


class GoalReached(SearchEnd):
    """The target is met, or the patience is at its end."""


class LimitReached(SearchEnd):
    """A limit of the run (cost, tokens, calls, steps, time) forbids the next thing."""


_REMEDIES: Sequence[tuple[tuple[int, ...], str]] = (
    ((errno.ENOSPC, errno.EDQUOT), "free some space"),
    ((errno.EFBIG,), "raise the limit on the size of files (ulimit -f)"),
    ((errno.EMFILE, errno.ENFILE), "raise the limit on open files (ulimit -n)"),
    ((errno.EACCES, errno.EPERM, errno.EROFS), "give the right to use it, or choose another place"),
    ((errno.EISDIR, errno.ENOTEMPTY), "a folder is where a file should be; move it away"),
    ((errno.ENOTDIR, errno.EEXIST), "a file is where a folder should be; move it away"),
    ((errno.ENOENT,), "put it back, or choose another place"),
    ((errno.EAGAIN, errno.ENOMEM), "end other programs, or use fewer --workers"),
)


def file_error(e: OSError, path: Path | None = None) -> FileError:
    """Return an error of the operating system as one line: file, problem, remedy."""
    name = str(path) if path else e.filename if isinstance(e.filename, str | bytes) else ""
    if not name and _has_no_folder():
        return FileError("the current folder has been deleted; change to another one")
    where = f"{os.fsdecode(name)}: " if name else ""
    what = e.strerror or str(e) or type(e).__name__
    remedy = next((words for numbers, words in _REMEDIES if e.errno in numbers), "")
    return FileError(f"{where}{what}{'; ' if remedy else ''}{remedy}")


#: The system has run out of something: whatever a library makes of it, that is the reason.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EAGAIN)


def known_error(e: BaseException) -> PromptPOError | None:
    """Return the PromptPOError that an exception is or stands for; None for a program's mistake."""
    if isinstance(e, PromptPOError):
        return e
    if isinstance(e, OSError):
        return file_error(e)
    if isinstance(e, MemoryError):
        return PromptPOError("out of memory; end other programs, or use fewer --workers")
    before = e.__cause__ or e.__context__
    while before is not None:
        if isinstance(before, OSError) and before.errno in _EXHAUSTED:
            return file_error(before)
        before = before.__cause__ or before.__context__
    return None


def _has_no_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - nothing else is asked of it
    except OSError:
        return True
    return False


#: Exit code of what Ctrl-C, SIGTERM or SIGHUP stopped (128 + SIGINT).
EXIT_INTERRUPTED = 130
