"""Exact counts and counters of a function."""

import ctypes

from ._library import CALLBACK, Error, checked, library

DEFAULT_EVENTS = (
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "cycles",
    "instructions",
)


class Counts:
    """Counts by name. A value that was not counted is None, and reasons[name] says why."""

    def __init__(self, values, reasons, result):
        self.values = values
        self.reasons = reasons
        self.result = result  # what the function returned

    def __getitem__(self, name):
        return self.values[name]

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __str__(self):
        if not self.values:
            return ""
        width = max(map(len, self.values))
        lines = []
        for name, value in self.values.items():
            reason = self.reasons.get(name, "")
            text = "n/a" if value is None else format(value, ",.0f")
            lines.append("%-*s %18s%s" % (width, name, text, reason and "  " + reason))
        return "\n".join(lines)


class ExactCounts(Counts):
    """What a function executed. INCOMPLETE: other threads worked, and every value is None."""

    @property
    def complete(self):
        return self.values["instructions"] is not None

    @property
    def reason(self):
        """Why the counts are INCOMPLETE; empty if they are complete."""
        return self.reasons.get("instructions", "")

    @property
    def instructions(self):
        return self.values["instructions"]

    @property
    def flops(self):
        return self.values["flops"]

    @property
    def loads(self):
        return self.values["loads"]

    @property
    def stores(self):
        return self.values["stores"]

    @property
    def load_bytes(self):
        return self.values["load_bytes"]

    @property
    def store_bytes(self):
        return self.values["store_bytes"]

    @property
    def flops_by_type(self):
        """FLOPs on float64, float32 and float16: a multiply-add is 2, masked lanes are full."""
        if not self.complete:
            return {"float64": None, "float32": None, "float16": None}

        def sum_of(event, element, lanes):
            scalar = self.values["%s.SCALAR_%s" % (event, element)]
            packed = (
                self.values["%s.%dB_PACKED_%s" % (event, 128 << k, element)] * (lanes << k)
                for k in range(3)
            )
            return scalar + sum(packed)

        return {
            "float64": sum_of("FP_ARITH_INST_RETIRED", "DOUBLE", 2),
            "float32": sum_of("FP_ARITH_INST_RETIRED", "SINGLE", 4),
            "float16": sum_of("FP_ARITH_INST_RETIRED2", "HALF", 8),
        }

    def __str__(self):
        if not self.complete:
            return "INCOMPLETE: " + self.reason
        rows = [("instructions", self.instructions), ("FLOPs", self.flops)]
        rows += [("  " + name, n) for name, n in self.flops_by_type.items() if n]
        rows += [
            ("loads", self.loads),
            ("  bytes", self.load_bytes),
            ("stores", self.stores),
            ("  bytes", self.store_bytes),
        ]
        return "\n".join("%-14s %18s" % (name, format(value, ",d")) for name, value in rows)


def _take(pointer):
    """Values and reasons; frees the counts."""
    values, reasons = {}, {}
    number = ctypes.c_double()
    for index in range(library.topdnn_counts_size(pointer)):
        name = library.topdnn_counts_name(pointer, index).decode()
        present = library.topdnn_counts_value(pointer, index, ctypes.byref(number))
        values[name] = int(number.value) if present else None
        reason = library.topdnn_counts_reason(pointer, index).decode(errors="replace")
        if reason:
            reasons[name] = reason
    library.topdnn_counts_free(pointer)
    return values, reasons


def _require_function(f, name):
    if not callable(f):
        raise TypeError("topdnn.%s: needs a function to call, not %r" % (name, type(f).__name__))


def count(f):
    """Runs f() once and counts exactly what it executed, with its OpenMP workers (libgomp)."""
    _require_function(f, "count")
    outcome = {}

    def run(_):
        try:
            outcome["result"] = f()
        except BaseException as error:  # pylint: disable=broad-except
            outcome["error"] = error

    pointer = library.topdnn_count(CALLBACK(run), None)
    if "error" in outcome:
        if pointer is not None:
            library.topdnn_counts_free(pointer)
        raise outcome["error"]
    values, reasons = _take(checked(pointer))

    def short(name):
        return name[len("exact/") :] if name.startswith("exact/") else name

    return ExactCounts(
        {short(name): value for name, value in values.items()},
        {short(name): reason for name, reason in reasons.items()},
        outcome.get("result"),
    )


def counters(f, events=DEFAULT_EVENTS):
    """Counters of the kernel and the PMU over all threads of the process while f() runs."""
    _require_function(f, "counters")
    if isinstance(events, str):
        raise TypeError("topdnn.counters: events is a list of names, not one text")
    names = [str(name).encode() for name in events]
    handle = checked(
        library.topdnn_counters_open((ctypes.c_char_p * len(names))(*names), len(names))
    )
    try:
        checked(library.topdnn_counters_start(handle))
        try:
            result = f()
        except BaseException:
            _take(checked(library.topdnn_counters_stop(handle)))
            raise
        pointer = library.topdnn_counters_stop(handle)
    finally:
        library.topdnn_counters_close(handle)
    values, reasons = _take(checked(pointer))
    return Counts(values, reasons, result)


__all__ = ["Counts", "Error", "ExactCounts", "count", "counters"]
