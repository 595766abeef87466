#!/usr/bin/env python3
"""Plain Python: a loop of its own, whose steps topdnn finds."""
import random
import sys

import topdnn

numbers = [random.random() for _ in range(2000)]

with topdnn.profile() as p:
    for _ in range(500):
        with topdnn.stage("sort"):
            ordered = sorted(numbers)
        with topdnn.stage("sum"):
            total = sum(ordered)
print(p)
if len(sys.argv) > 1:
    p.save(sys.argv[1])
