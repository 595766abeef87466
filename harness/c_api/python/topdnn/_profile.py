"""Times of the stages of a program's steps."""

import ctypes
import html
import json
import os
import shutil
import stat
import statistics
import sys
import tempfile
import threading

from ._library import Error, Options, checked, library, text_of

_begin = library.topdnn_stage_begin
_end = library.topdnn_stage_end

_active = None  # the profile whose `with` block runs


class _Stage:
    """A `with` block around a stage: a reading of the clock at each end."""

    __slots__ = ("_handle", "_number")

    def __init__(self, handle, number):
        self._handle = handle
        self._number = number

    def __enter__(self):
        if _begin(self._handle, self._number) < 0:
            checked(-1)

    def __exit__(self, kind, value, trace):
        if _end(self._handle) < 0 and kind is None:
            checked(-1)


class _Step:
    def __init__(self, handle):
        self._handle = handle

    def __enter__(self):
        checked(library.topdnn_step_begin(self._handle))

    def __exit__(self, kind, value, trace):
        if library.topdnn_step_end(self._handle) < 0 and kind is None:
            checked(-1)


def _open(seconds, empty_seconds):
    arguments = [str(argument) for argument in sys.argv]
    program = os.path.basename(arguments[0]) if arguments and arguments[0] else "python3"
    options = Options(
        ctypes.sizeof(Options),
        " ".join(["python3", *arguments]).encode(errors="replace"),
        program.encode(errors="replace"),
        seconds,
        empty_seconds,
    )
    return checked(library.topdnn_profile_open(ctypes.byref(options)))


def _empty_seconds():
    """The time of an empty `with stage` block between the readings of its clock."""
    handle = _open(1, 1e-12)
    try:
        stage_ = _Stage(handle, checked(library.topdnn_profile_stage(handle, b"empty", b"")))
        seconds = []
        with _Step(handle):
            for _ in range(257):
                with stage_:
                    pass
                seconds.append(library.topdnn_stage_seconds(handle))
        return statistics.median(seconds)
    finally:
        library.topdnn_profile_close(handle)


class Profile:
    """The profile of a `with topdnn.profile()` block; tables and files after it."""

    def __init__(self, seconds):
        self._handle = None
        if not seconds > 0:
            raise ValueError("topdnn.profile: seconds must be above 0, not %r" % (seconds,))
        self._seconds = float(seconds)
        self._stages = {}
        self._thread = None

    def __enter__(self):
        global _active
        if _active is not None:
            raise Error("a profile is open already: profiles do not nest")
        if self._handle is not None:
            raise Error("this profile has ended: make another one")
        self._handle = _open(self._seconds, _empty_seconds())
        self._thread = threading.get_ident()
        _active = self
        return self

    def __exit__(self, kind, value, trace):
        global _active
        _active = None

    def __del__(self):
        if self._handle is not None:
            library.topdnn_profile_close(self._handle)

    def _open_handle(self):
        if self._handle is None:
            raise Error("the profile has not begun: use it in `with topdnn.profile() as p:`")
        return self._handle

    def stage(self, name, pass_="stage"):
        known = self._stages.get((name, pass_))
        if known is None:
            handle = self._open_handle()
            number = library.topdnn_profile_stage(handle, name.encode(), pass_.encode())
            known = self._stages[(name, pass_)] = _Stage(handle, checked(number))
        return known

    def steps(self):
        """Yields the number of each step, until they are steady and `seconds` of them are timed."""
        handle = self._open_handle()
        number = 0
        while checked(library.topdnn_profile_next(handle)) == 1:
            yield number
            number += 1

    def step(self):
        """A `with` block around one step, for a program with a loop of its own."""
        return _Step(self._open_handle())

    def json(self):
        """The profile as a text in the JSON of `topdnn profile --json`."""
        return text_of(library.topdnn_profile_json(self._open_handle()))

    def data(self):
        """The same as a dict."""
        return json.loads(self.json())

    def save(self, path):
        """Writes the JSON; `topdnn report`, `compare` and `results` read it. A file that exists keeps
        its permissions, and a symbolic link stays one. A device or a pipe is written in place."""
        text = self.json()
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
        path = os.path.realpath(path)
        folder = os.path.dirname(path)
        number, temporary = tempfile.mkstemp(dir=folder, prefix=".topdnn-")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask if mode is None else stat.S_IMODE(mode))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def table(self, width=None):
        """The verdict, the stages and their times as text."""
        if width is None:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        return text_of(library.topdnn_profile_table(self._open_handle(), width))

    def __str__(self):
        return self.table()

    def _repr_html_(self):
        data = self.data()
        step = data["step"]
        whole = (step["seconds"] or {}).get("median")
        rows = []
        for record in [*data["stages"], step]:
            seconds = record["seconds"] or {}
            median = seconds.get("median")
            share = "" if not median or not whole else "%.1f %%" % (100 * median / whole)
            times = ["" if not t else "%.3f" % (t * 1e3) for t in (median, seconds.get("p90"))]
            verdict = record["status"]
            if record.get("reason"):
                verdict += ": " + record["reason"]
            name = record.get("name", "step")
            cells = [name, record.get("pass", ""), *times, share, seconds.get("n", ""), verdict]
            rows.append("".join("<td>%s</td>" % html.escape(str(cell)) for cell in cells))
        names = ["stage", "pass", "median, ms", "p90, ms", "share", "samples", "verdict"]
        head = "".join("<th>%s</th>" % name for name in names)
        body = "".join("<tr>%s</tr>" % row for row in rows)
        return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (head, body)


def profile(seconds=1.0):
    """Measures the stages in its `with` block. `seconds`: of timed steps, for Profile.steps()."""
    return Profile(seconds)


def stage(name, pass_="stage"):
    """A `with` block around a stage of the profile that is open."""
    own = _active
    if own is None:
        raise Error("stage %r is outside of a profile: open one by `with topdnn.profile():`" % name)
    if own._thread != threading.get_ident():
        raise Error("stage %r is on another thread than its profile" % name)
    return own.stage(name, pass_)
