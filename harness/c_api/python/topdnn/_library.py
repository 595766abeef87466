"""The functions of libtopdnn.so, by ctypes. topdnn/harness.h describes them."""

import ctypes
import os
from pathlib import Path

ABI = 1
NAME = "libtopdnn.so.0"


class Error(RuntimeError):
    """What topdnn cannot do, in one line."""


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("command", ctypes.c_char_p),
        ("program", ctypes.c_char_p),
        ("seconds", ctypes.c_double),
        ("empty_seconds", ctypes.c_double),
    ]


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_POINTER = ctypes.c_void_p
_INT = ctypes.c_int32
_SIZE = ctypes.c_size_t
_TEXT = ctypes.c_char_p

# Name: result, arguments.
_FUNCTIONS = {
    "topdnn_harness_abi": (_INT, []),
    "topdnn_version": (_TEXT, []),
    "topdnn_error": (_TEXT, []),
    "topdnn_clock": (_TEXT, []),
    "topdnn_counts_size": (_SIZE, [_POINTER]),
    "topdnn_counts_name": (_TEXT, [_POINTER, _SIZE]),
    "topdnn_counts_value": (_INT, [_POINTER, _SIZE, ctypes.POINTER(ctypes.c_double)]),
    "topdnn_counts_reason": (_TEXT, [_POINTER, _SIZE]),
    "topdnn_counts_free": (None, [_POINTER]),
    "topdnn_count": (_POINTER, [CALLBACK, _POINTER]),
    "topdnn_counters_open": (_POINTER, [ctypes.POINTER(_TEXT), _SIZE]),
    "topdnn_counters_start": (_INT, [_POINTER]),
    "topdnn_counters_stop": (_POINTER, [_POINTER]),
    "topdnn_counters_close": (None, [_POINTER]),
    "topdnn_profile_open": (_POINTER, [ctypes.POINTER(Options)]),
    "topdnn_profile_close": (None, [_POINTER]),
    "topdnn_profile_stage": (_INT, [_POINTER, _TEXT, _TEXT]),
    "topdnn_profile_next": (_INT, [_POINTER]),
    "topdnn_step_begin": (_INT, [_POINTER]),
    "topdnn_step_end": (_INT, [_POINTER]),
    "topdnn_stage_begin": (_INT, [_POINTER, _INT]),
    "topdnn_stage_end": (_INT, [_POINTER]),
    "topdnn_stage_seconds": (ctypes.c_double, [_POINTER]),
    "topdnn_profile_steps": (ctypes.c_int64, [_POINTER]),
    "topdnn_profile_json": (_POINTER, [_POINTER]),
    "topdnn_profile_table": (_POINTER, [_POINTER, _INT]),
    "topdnn_text_free": (None, [_POINTER]),
}


def _paths():
    """Where the library may be: named by the user, known to the loader, below the same prefix."""
    named = os.environ.get("TOPDNN_LIBRARY")
    if named:
        return [named]
    # (PREFIX/lib/python3/dist-packages/topdnn/_library.py)
    libraries = Path(__file__).resolve().parents[3]
    found = [*libraries.glob(NAME), *libraries.glob("*/" + NAME)]
    return [*map(str, sorted(found)), NAME]


def _load():
    reasons = []
    for path in _paths():
        try:
            # (a PyDLL keeps the interpreter's lock: a mark takes half of the time, and no other
            # Python thread runs between a mark and what it marks)
            library = ctypes.PyDLL(path)
            break
        except OSError as error:
            reasons.append(str(error))
    else:
        raise ImportError(
            "topdnn: libtopdnn.so cannot be loaded (%s): install the package libtopdnn0, or give "
            "its path in TOPDNN_LIBRARY" % "; ".join(reasons)
        )
    try:
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as error:
        raise ImportError("topdnn: libtopdnn.so is too old for this module: %s" % error) from None
    if library.topdnn_harness_abi() != ABI:
        raise ImportError(
            "topdnn: libtopdnn.so has interface %d, and this module needs %d: install both from "
            "one version" % (library.topdnn_harness_abi(), ABI)
        )
    return library


library = _load()


def checked(result):
    """The result of a function that returns NULL or a negative number if it fails."""
    if result is None or result < 0:
        raise Error(library.topdnn_error().decode(errors="replace"))
    return result


def text_of(pointer):
    """A text that the caller frees."""
    text = ctypes.string_at(checked(pointer)).decode(errors="replace")
    library.topdnn_text_free(pointer)
    return text
