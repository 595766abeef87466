"""Times inference of a network in OpenCV's dnn module, from the ONNX file that topdnn exports.

  opencv.py NETWORK PASS TYPE BATCH THREADS SECONDS    {"modes": {MODE: milliseconds}}
  opencv.py --version                                  {"framework": NAME} or {"absent": REASON}

OpenCV neither trains nor computes in bf16. For these it prints no mode.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from timing import median_ms

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
        return {"modes": {}}
    cv2.setNumThreads(int(threads))
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/network.onnx"
        subprocess.run([TOPDNN, "export", network, file], check=True, capture_output=True)
        net = cv2.dnn.readNetFromONNX(file)
    side = 32 if network == "cnn" else 224
    images = numpy.random.default_rng(1).random((int(batch), 3, side, side), dtype=numpy.float32)
    net.setInput(images)
    scores = net.forward()
    if len(scores) != int(batch):
        sys.exit(f"{network} gave scores of {len(scores)} images, not of {batch}")
    return {"modes": {"dnn": median_ms(net.forward, float(seconds))}}


print(json.dumps(main()))
