#!/usr/bin/env python3
"""A training step of a network with two layers in NumPy: its stages, its counts, its counters."""
import sys

import numpy
import topdnn

BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 256, 128, 10
random = numpy.random.default_rng(1)
images = random.random((BATCH, INPUTS), dtype=numpy.float32)
labels = random.integers(OUTPUTS, size=BATCH)
weights1 = random.random((INPUTS, HIDDEN), dtype=numpy.float32) / INPUTS
weights2 = random.random((HIDDEN, OUTPUTS), dtype=numpy.float32) / HIDDEN

with topdnn.profile(seconds=0.5) as p:
    for _ in p.steps():
        with topdnn.stage("layer1", "forward"):
            hidden = images @ weights1
        with topdnn.stage("relu1", "forward"):
            active = numpy.maximum(hidden, 0)
        with topdnn.stage("layer2", "forward"):
            scores = active @ weights2
        with topdnn.stage("softmax", "loss"):
            shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            shares[numpy.arange(BATCH), labels] -= 1
        with topdnn.stage("layer2", "backward"):
            gradient2 = active.T @ shares
            into_relu = shares @ weights2.T
        with topdnn.stage("relu1", "backward"):
            into_relu[hidden <= 0] = 0
        with topdnn.stage("layer1", "backward"):
            gradient1 = images.T @ into_relu
        with topdnn.stage("update", "update"):
            weights1 -= 0.01 / BATCH * gradient1
            weights2 -= 0.01 / BATCH * gradient2
print(p.table())
if len(sys.argv) > 1:
    p.save(sys.argv[1])

print("images @ weights1, counted:")
print(topdnn.count(lambda: images @ weights1))
print("\nimages @ weights1, counters of all threads:")
print(topdnn.counters(lambda: images @ weights1))
