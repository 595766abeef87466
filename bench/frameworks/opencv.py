"""Times inference of a network in OpenCV's dnn module, from the ONNX file that topdnn exports.

  opencv.py TASK        {"modes": {MODE: milliseconds}}; TASK is described in `compare`
  opencv.py --version   {"framework": NAME} or {"absent": REASON}

OpenCV neither trains nor computes in bf16. For these it prints no mode. A network that it cannot
read is in "failed": {MODE: REASON}.
"""

import json
import sys

from timing import median_ms

try:
    import cv2
    import numpy
except ImportError as error:
    print(json.dumps({"absent": str(error)}))
    sys.exit(0)


def main():
    if sys.argv[1:] == ["--version"]:
        return {"framework": f"OpenCV {cv2.__version__}"}
    task = json.loads(sys.argv[1])
    if task["pass"] != "infer" or task["type"] != "f32":
        return {"modes": {}}
    cv2.setNumThreads(task["threads"])
    try:
        net = cv2.dnn.readNetFromONNX(task["onnx"])
    except cv2.error as error:  # an operation that this version lacks
        return {"modes": {}, "failed": {"dnn": error.err.splitlines()[0][:100]}}
    batch, side = task["batch"], task["side"]
    images = numpy.random.default_rng(1).random((batch, 3, side, side), dtype=numpy.float32)
    net.setInput(images)
    scores = net.forward()
    if len(scores) != batch:
        sys.exit(f"{task['network']} gave scores of {len(scores)} images, not of {batch}")
    return {"modes": {"dnn": median_ms(net.forward, task)}}


print(json.dumps(main()))
