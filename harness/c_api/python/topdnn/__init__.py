"""Measures Python programs: times of stages with a verdict, counters, exact counts.

    import topdnn

    with topdnn.profile() as p:
        for _ in p.steps():
            with topdnn.stage("sort"):
                sorted(numbers)
    print(p.table())

docs/python.md of topdnn describes it.
"""

from ._counts import Counts, ExactCounts, count, counters
from ._library import Error, library
from ._profile import Profile, profile, stage

__version__ = library.topdnn_version().decode()

__all__ = ["Counts", "Error", "ExactCounts", "Profile", "count", "counters", "profile", "stage"]
