"""Exceptions: Error and, for the statuses a program may want to tell apart, classes below it."""
import enum
from typing import Any, Dict, Tuple, Type

from . import _core


class Status(enum.IntEnum):
    """Why a call failed, or a record has no result: the statuses of bioinfer.h by their words."""

    OK = 0
    INVALID_ARGUMENT = -1
    OOM = -2
    IO_ERROR = -3
    BAD_FORMAT = -4
    UNSUPPORTED = -5
    NOT_FOUND = -6
    MISMATCH = -7
    LIMIT = -8
    DEVICE_ERROR = -9
    DEVICE_LOST = -10
    CANCELLED = -11
    FORKED = -12
    MISUSE = -13
    INTERNAL_ERROR = -14
    NO_SPACE = -15
    CLOSED_PIPE = -16
    EMPTY = -20
    TOO_LONG = -21
    BAD_RESIDUE = -22
    NAN = -23
    DUPLICATE_ID = -24
    OUT_OF_RANGE = -25


class Error(Exception):
    """The library refused something, or could not do it.

    `status` is the Status, `text` what went wrong where. The names of statuses are those of the
    manifest and of tables: `error.status.name.lower()`.
    """

    def __init__(self, text: str, status: int):
        super().__init__(text)
        self.text = text
        self.status = Status(status)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.text, int(self.status))


class InvalidArgument(Error, ValueError):
    """An argument or option cannot be used."""


class NotFound(Error, FileNotFoundError):
    """There is no such file, model, tensor or device."""


class OutOfMemory(Error, MemoryError):
    """Memory of the host or of the device does not suffice."""


class Unsupported(Error, NotImplementedError):
    """It is well-formed, but this build or model does not do it."""


class BadFormat(Error, ValueError):
    """A file is not what it claims to be."""


class DeviceError(Error):
    """A device failed; after DEVICE_LOST it is gone for this process."""


class Forked(Error):
    """This process was forked from the one that opened the model."""

    def __init__(self, text: str, status: int):
        super().__init__(text + " (Python: open the model in the child process itself, "
                         "or use multiprocessing.get_context('spawn'))"
                         if "Python:" not in text else text, status)


class Misuse(Error, RuntimeError):
    """Calls came in the wrong order, or from two threads at once."""


class RecordError(Error, ValueError):
    """A record has no result: it is empty, too long, or has characters that are no residues."""


class NoArray(RecordError, InvalidArgument, AttributeError):
    """A result has no array that this attribute could be: its record failed, it has several, or
    the task gives no such array. `hasattr()` is False."""


CLASSES: Dict[int, Type[Error]] = {
    int(Status[name]): kind for name, kind in {
        "INVALID_ARGUMENT": InvalidArgument, "OOM": OutOfMemory, "BAD_FORMAT": BadFormat,
        "UNSUPPORTED": Unsupported, "NOT_FOUND": NotFound, "MISMATCH": BadFormat,
        "DEVICE_ERROR": DeviceError, "DEVICE_LOST": DeviceError, "FORKED": Forked,
        "MISUSE": Misuse, "EMPTY": RecordError, "TOO_LONG": RecordError,
        "BAD_RESIDUE": RecordError, "NAN": RecordError, "DUPLICATE_ID": RecordError,
        "OUT_OF_RANGE": RecordError}.items()}
_core.set_errors(CLASSES, Error)


def error_of(status: int, text: str) -> Error:
    """The exception of a record's status."""
    return RecordError(text, status)
