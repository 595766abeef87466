"""Where a step of each side spends its time, for `compare --stages`.

A side is {"step": ms, "stages": {OPERATION: ms}}. An operation has topdnn's name and a pass:
"conv forward". Both gradients of a convolution are "conv backward", as PyTorch computes them in one
call.
"""

LEAST = 0.005  # of a step: smaller operations are one row
PASSES = {
    "forward": " forward",
    "backward_data": " backward",
    "backward_weights": " backward",
    "update": " update",
}


def of_profile(report):
    """The side of the JSON report of `topdnn profile`."""
    stages = {}
    for stage in report["stages"]:
        name = stage["op"] + PASSES.get(stage["pass"], "")
        if stage["pass"] == "update":
            name = "update"
        stages[name] = stages.get(name, 0) + stage["seconds"]["median"] * 1e3
    return {"step": report["step"]["seconds"]["median"] * 1e3, "stages": stages}


def lines_of(ours, peer):
    """A line for each operation, the slowest first; then what is in no stage, and the step."""
    sides = (ours, peer)
    names = sorted(
        {*ours["stages"], *peer["stages"]},
        key=lambda name: -max(side["stages"].get(name, 0) for side in sides),
    )
    least = LEAST * min(side["step"] for side in sides)
    shown = [name for name in names if any(side["stages"].get(name, 0) >= least for side in sides)]
    rows = [(name, [side["stages"].get(name) for side in sides]) for name in shown]
    rest = [sum(side["stages"].get(name, 0) for name in names if name not in shown) for side in sides]
    outside = [side["step"] - sum(side["stages"].values()) for side in sides]
    rows += [("smaller stages", rest), ("not in a stage", outside)]
    rows += [("step", [side["step"] for side in sides])]
    return [f"{name:32}" + "".join(map(cell, values)) for name, values in rows]


def cell(ms):
    return f"{'-':>12}" if ms is None else f"{ms:12.2f}"
