"""How a framework's steps are timed."""

import statistics
import time


def median_ms(step, seconds):
    """The median of four steps or more, for as long as said, after two that warm up."""
    step()
    step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 4:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
