#!/usr/bin/env python3
"""A job with the arguments and the control socket of `topdnn malleable`, which sleeps instead of
computing. A step takes FAKE_STEP seconds (default 0.01) divided by the width; FAKE_SLOWER "4:10":
ten times as long from the fourth process of FAKE_LOG on. FAKE_FAULTS has by the job's batch, such as "3:die,4:hang": die, fail, hang, deaf, flood, junk, refuse, nosocket.
"""
import argparse
import json
import os
import select
import signal
import socket
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("network")
parser.add_argument("--train", action="store_true")
parser.add_argument("--infer", action="store_true")
for name in ("batch", "steps", "width", "min-width", "max-width"):
    parser.add_argument("--" + name, type=int, required=True)
parser.add_argument("--control", required=True)
parser.add_argument("--json")
arguments = parser.parse_args()

allowed = len(os.sched_getaffinity(0))
if arguments.max_width > allowed:
    sys.exit(f"--max-width {arguments.max_width}: must be 1 to {allowed}")

faults = dict(item.split(":") for item in filter(None, os.environ.get("FAKE_FAULTS", "").split(",")))
fault = faults.get(str(arguments.batch), "")
step = float(os.environ.get("FAKE_STEP", "0.01"))
state = {"width": arguments.width, "wanted": arguments.width, "iterations": 0, "stop": False}

if "FAKE_LOG" in os.environ:
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(f"{os.getpid()} {arguments.batch} {arguments.width}\n")
if "FAKE_SLOWER" in os.environ:
    first, factor = os.environ["FAKE_SLOWER"].split(":")
    with open(os.environ["FAKE_LOG"]) as log:
        step *= float(factor) if len(log.readlines()) >= int(first) else 1

server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if fault != "nosocket":
    server.bind(arguments.control)
    server.listen(4)
clients = []


def answer(packet):
    request = json.loads(packet)
    if request["request"] == "set_width":
        if fault == "refuse":
            return {"ok": False, "error": "no other width\nwill do"}
        state["wanted"] = request["width"]
    elif request["request"] == "stop":
        state["stop"] = True
    state["width"] = state["wanted"]
    return {"ok": True, "width": state["width"], "wanted": state["wanted"],
            "min": arguments.min_width, "max": arguments.max_width,
            "iterations": state["iterations"], "pid": os.getpid()}


def serve(seconds):
    """Answers requests for this time."""
    until = time.monotonic() + seconds
    while True:
        left = max(until - time.monotonic(), 0)
        waits = clients + ([server] if fault != "nosocket" else [])
        for ready in select.select(waits, [], [], left)[0]:
            if ready is server:
                clients.append(server.accept()[0])
                continue
            packet = ready.recv(4096)
            if not packet:
                clients.remove(ready)
                continue
            if fault == "deaf":
                continue
            if fault == "junk":
                ready.send(b'{"ok": true, "width": -1, "wanted": [')
                continue
            for _ in range(10000 if fault == "flood" else 1):
                ready.send(json.dumps(answer(packet)).encode())
        if left == 0:
            return


try:
    while state["iterations"] < arguments.steps and not state["stop"]:
        serve(step / state["width"])
        if fault == "hang":
            continue
        state["iterations"] += 1
        if fault == "die" and state["iterations"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "fail" and state["iterations"] == 3:
            sys.exit("the disk is full")
except BrokenPipeError:
    pass
