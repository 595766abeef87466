"""Times the steps of a framework."""

import statistics
import time


def median_ms(step, seconds):
    """The median time of at least four steps, in `seconds`, after two steps of warm-up."""
    step()
    step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 4:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
