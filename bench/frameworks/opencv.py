"""Times inference of a network in OpenCV's dnn module, from the ONNX file that topdnn exports.

  opencv.py NETWORK PASS TYPE BATCH THREADS SECONDS    {"ways": {WAY: milliseconds}}
  opencv.py --version                                  {"framework": NAME} or {"absent": REASON}

It neither trains nor computes in bf16: no way then.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import cv2
    import numpy
except ImportError as error:
    print(json.dumps({"absent": str(error)}))
    sys.exit(0)

TOPDNN = pathlib.Path(__file__).resolve().parents[2] / "build/release/topdnn"


def main():
    if sys.argv[1:] == ["--version"]:
        return {"framework": f"OpenCV {cv2.__version__}"}
    network, which, dtype, batch, threads, seconds = sys.argv[1:]
    if which != "infer" or dtype != "f32":
        return {"ways": {}}
    cv2.setNumThreads(int(threads))
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/network.onnx"
        subprocess.run([TOPDNN, "export", network, file], check=True, capture_output=True)
        net = cv2.dnn.readNetFromONNX(file)
    side = 32 if network == "cnn" else 224
    images = numpy.random.default_rng(1).random((int(batch), 3, side, side), dtype=numpy.float32)
    times = []
    end = None
    while end is None or time.perf_counter() < end or len(times) < 6:
        net.setInput(images)
        start = time.perf_counter()
        scores = net.forward()
        times.append(time.perf_counter() - start)
        if len(scores) != int(batch):
            sys.exit(f"{network} gave scores of {len(scores)} images, not of {batch}")
        end = end or time.perf_counter() + float(seconds)
    return {"ways": {"dnn": statistics.median(times[2:]) * 1e3}}


print(json.dumps(main()))
