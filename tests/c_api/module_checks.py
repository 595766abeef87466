#!/usr/bin/env python3
"""Checks of the Python module `topdnn`, for python_test.cc: module_checks.py NAME.

Exit status: 0 passed, 1 failed, 77 skipped, with the reason.
"""
import json
import os
import sys
import tempfile
import threading
import time

import topdnn


def skip(reason):
    print(reason)
    sys.exit(77)


def counted(f):
    """topdnn.count(f); skips where the machine has no exact counts."""
    try:
        return topdnn.count(f)
    except topdnn.Error as error:
        if "no exact counts on this machine" in str(error):
            skip(error)
        raise


def raises(kind, text, f):
    try:
        f()
    except kind as error:
        assert text in str(error), error
        assert "\n" not in str(error), error
    else:
        raise AssertionError("no %s: %s" % (kind.__name__, text))


def WrongUse():
    def enter(block):
        with block:
            pass

    raises(topdnn.Error, "stage 'a' is outside of a profile", lambda: topdnn.stage("a"))
    raises(ValueError, "seconds must be above 0", lambda: topdnn.profile(seconds=0))
    raises(topdnn.Error, "unknown event 'x'", lambda: topdnn.counters(int, events=["x"]))
    raises(TypeError, "not one text", lambda: topdnn.counters(int, events="task-clock"))
    raises(TypeError, "needs a function to call", lambda: topdnn.count(1))
    raises(TypeError, "needs a function to call", lambda: topdnn.counters(None))
    raises(topdnn.Error, "has not begun", lambda: topdnn.profile().table())
    with topdnn.profile() as p:
        raises(topdnn.Error, "profiles do not nest", lambda: enter(topdnn.profile()))
        raises(topdnn.Error, "there is no whole step", p.table)
        raises(topdnn.Error, "a stage needs a name", lambda: topdnn.stage(""))
        with topdnn.stage("outer"):
            raises(topdnn.Error, "do not nest", lambda: enter(topdnn.stage("inner")))
        errors = []

        def elsewhere():
            try:
                topdnn.stage("outer")
            except topdnn.Error as error:
                errors.append(str(error))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert errors == ["stage 'outer' is on another thread than its profile"], errors
    raises(topdnn.Error, "has ended", lambda: enter(p))
    nested = []

    def inner():
        try:
            topdnn.count(int)
        except topdnn.Error as error:
            nested.append(str(error))

    counted(inner)
    assert nested == ["exact counter: a count is already running"], nested


def Outcomes():
    class Own(BaseException):
        pass

    own = Own("a text")

    def fail():
        raise own

    for run in (topdnn.count, topdnn.counters):
        try:
            run(fail)
        except Own as error:
            assert error is own
        else:
            raise AssertionError("the exception is lost")
    assert topdnn.counters(lambda: 42).result == 42
    assert counted(lambda: 42).result == 42  # the counter works after an exception
    # A stage that raises ends, and so does its profile.
    try:
        with topdnn.profile() as p:
            with topdnn.stage("a"):
                fail()
    except Own:
        pass
    with topdnn.profile(), topdnn.stage("a"):
        pass
    assert p.data()["stages"][0]["name"] == "a"


def Steps():
    with topdnn.profile(seconds=0.05) as p:
        numbers = []
        for number in p.steps():
            numbers.append(number)
            with topdnn.stage("wait", "forward"):
                time.sleep(200e-6)
            with topdnn.stage("<sum>"):
                sum(range(1000))
    assert numbers == list(range(len(numbers))) and len(numbers) > 5
    data = p.data()
    names = [(stage["name"], stage["pass"]) for stage in data["stages"]]
    assert names == [("wait", "forward"), ("<sum>", "stage")], names
    # (a sleep lasts at least as long as it is asked to)
    assert data["stages"][0]["seconds"]["min"] >= 199e-6, data["stages"][0]
    assert data["program"] == "module_checks.py" and "cpu" in data["machine"]
    assert "wait" in p.table() and p.table(60) != p.table(0)
    assert "<td>&lt;sum&gt;</td>" in p._repr_html_()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.json")
        p.save(path)
        with open(path, encoding="utf-8") as file:
            assert json.load(file)["stages"][0]["name"] == "wait"
        assert os.listdir(folder) == ["p.json"]
        raises(OSError, "", lambda: p.save(os.path.join(folder, "no", "p.json")))
    # Steps that the caller marks.
    with topdnn.profile() as p:
        for _ in range(3):
            with p.step():
                with topdnn.stage("a"):
                    pass
        raises(topdnn.Error, "outside of a step", topdnn.stage("a").__enter__)
    assert p.data()["step"]["seconds"]["n"] == 2  # without the first


def Threads():
    """pypapi and others count the calling thread alone."""

    def work(seconds, worked):
        begin = time.thread_time()
        while time.thread_time() - begin < seconds:
            pass
        worked.append(time.thread_time() - begin)

    worked = []

    def both():
        thread = threading.Thread(target=work, args=(0.03, worked))
        thread.start()
        work(0.03, worked)
        thread.join()

    begin = time.process_time()
    counts = topdnn.counters(both)
    process = time.process_time() - begin
    assert set(counts) == {
        "task-clock",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "cycles",
        "instructions",
    }
    for name, value in counts.values.items():
        assert value is not None or counts.reasons[name], name
    assert 0.98 * sum(worked) <= counts["task-clock"] * 1e-9 <= 1.02 * process, (
        worked,
        counts["task-clock"],
        process,
    )


def Products():
    """A product has 2 m n k FLOPs. OpenBLAS also multiplies each result by alpha, for any k."""
    import numpy

    threads = int(os.environ["OMP_NUM_THREADS"])
    numbers = numpy.ones(1000)
    assert counted(lambda: numpy.add(numbers, numbers)).flops == 1000

    def product(kind, m, n, k):
        a = numpy.ones((m, k), dtype=kind)
        b = numpy.ones((k, n), dtype=kind)
        c = numpy.empty((m, n), dtype=kind)
        numpy.matmul(a, b, out=c)  # starts the library's threads
        counts = counted(lambda: numpy.matmul(a, b, out=c))
        assert (c == k).all()
        return counts

    for kind in (numpy.float64, numpy.float32):
        name = kind.__name__
        for m, n, k in ((64, 48, 32), (256, 256, 64)):
            once = product(kind, m, n, k)
            twice = product(kind, m, n, 2 * k)
            if not (once.complete and twice.complete):
                # Another pool: no number at all, and the reason.
                assert threads > 1, (once.reason, twice.reason)
                for counts in (once, twice):
                    if not counts.complete:
                        assert counts.flops is None and counts.flops_by_type[name] is None
                        assert str(counts) == "INCOMPLETE: " + counts.reason
                continue
            flops = once.flops_by_type[name]
            assert twice.flops_by_type[name] - flops == 2 * m * n * k, (once, twice)
            assert 2 * m * n * k <= flops <= 2 * m * n * (k + 2), once


def Modules():
    """Each module has its passes, and the gradients are those without the profile."""
    import torch

    import topdnn.torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)
            self.relu = torch.nn.ReLU(inplace=True)
            self.head = torch.nn.Linear(64, 3)

        def forward(self, x):
            y = self.conv(x)
            y += x  # in place, as in ResNet
            return self.head(torch.flatten(self.relu(y), 1))

    torch.set_num_threads(1)
    model = Block()
    image = torch.randn(2, 4, 4, 4)
    model(image).sum().backward()
    expected = [one.grad.clone() for one in model.parameters()]
    p = topdnn.torch.profile(model, image, seconds=0.05)
    passes = {(stage["name"], stage["pass"]) for stage in p.data()["stages"]}
    names = ("conv", "relu", "head")
    assert passes == {("loss", "loss")} | {
        (name, pass_) for name in names for pass_ in ("forward", "backward")
    }, passes
    for one, gradient in zip(model.parameters(), expected):
        assert torch.allclose(one.grad, gradient, atol=1e-5)
    assert model.relu.inplace
    p = topdnn.torch.profile(model, image, train=False, seconds=0.05)
    assert {stage["pass"] for stage in p.data()["stages"]} == {"forward"}


if __name__ == "__main__":
    globals()[sys.argv[1]]()
