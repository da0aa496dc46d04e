"""The errors of the library as exceptions."""

from __future__ import annotations


class Error(Exception):
    """What the library refused or could not do. The text is the library's own: what, where, what to do."""


class LimitError(Error):
    """Done, but a limit was crossed."""


class UsageError(Error, ValueError):
    """An argument has no meaning: an unknown name, a contradiction."""


class InputError(Error, ValueError):
    """A file or an array is unreadable or malformed, or does not fit the model."""


class NotFoundError(Error, KeyError):
    """A result has nothing of that name."""

    __str__ = Exception.__str__  # KeyError's is the repr of it


class MissingPackageError(Error, ImportError):
    """A Python package is needed that is not there."""


class UnsupportedError(Error, NotImplementedError):
    """A valid model uses something that this version does not compute."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class CancelledError(Error):
    """A callback asked to stop."""
