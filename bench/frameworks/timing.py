"""Times the steps of a framework."""

import statistics
import time


def median_ms(step, task):
    """The median time of the steps that fit in the task's seconds, at least its number of steps,
    after two steps of warm-up."""
    step()
    step()
    times = []
    end = time.perf_counter() + task["seconds"]
    while time.perf_counter() < end or len(times) < task["steps"]:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
