"""Times steps of a network in PyTorch, in each mode that may be the fastest on a CPU.

  pytorch.py TASK        {"modes": {MODE: milliseconds}}; TASK is described in `compare`. With its
                         "stages" also {"stages": {MODE: {OPERATION: milliseconds}}}
  pytorch.py --version   {"framework": NAME} or {"absent": REASON}

The networks are torchvision's, and the small CNN of TensorFlow's tutorial. Each must have as many
parameters as topdnn's network of the same name. A training step is forward, loss, backward and an
update with momentum. In bf16 it uses autocast, with master weights in f32; inference also runs with
weights in bf16.

A mode is an execution and what is set with it: "compile, channels last, tcmalloc". If the task
names no mode, all are timed, but an allocator's settings only with the fastest of the others. A
mode that fails (no compiler, too old a version) is left out, with the reason in "failed": {MODE:
REASON}.
"""

import ctypes.util
import itertools
import json
import os
import subprocess
import sys

from timing import median_ms

sys.path.pop(0)  # this folder: torchvision imports a module named pytorch where there is one
try:
    import torch
    import torchvision
except ImportError as error:
    print(json.dumps({"absent": str(error)}))
    sys.exit(0)


def small_cnn():
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10)),
    )


# Maker, parameters, classes.
NETWORKS = {
    "resnet50": (torchvision.models.resnet50, 25557032, 1000),
    "googlenet:bn": (
        lambda: torchvision.models.googlenet(aux_logits=False, init_weights=False),
        6624904,
        1000,
    ),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, 3504872, 1000),
    "squeezenet": (torchvision.models.squeezenet1_1, 1235496, 1000),
    "densenet121": (torchvision.models.densenet121, 7978856, 1000),
    "inception_v3": (
        lambda: torchvision.models.inception_v3(aux_logits=False, init_weights=False),
        23834568,
        1000,
    ),
    "resnext50": (torchvision.models.resnext50_32x4d, 25028904, 1000),
    "shufflenet_v2": (torchvision.models.shufflenet_v2_x1_0, 2278604, 1000),
    "mnasnet": (torchvision.models.mnasnet1_0, 4383312, 1000),
    "regnet_y_400mf": (torchvision.models.regnet_y_400mf, 4344144, 1000),
    "mobilenet_v3_small": (torchvision.models.mobilenet_v3_small, 2542856, 1000),
    "mobilenet_v3_large": (torchvision.models.mobilenet_v3_large, 5483032, 1000),
    "efficientnet_b0": (torchvision.models.efficientnet_b0, 5288548, 1000),
    "convnext_tiny": (torchvision.models.convnext_tiny, 28589128, 1000),
    "alexnet:one-tower": (torchvision.models.alexnet, 61100840, 1000),
    "cnn": (small_cnn, 122570, 10),
}

EXECUTIONS = {
    ("infer", "f32"): ("eager", "jit", "jit for inference", "compile"),
    ("infer", "bf16"): ("eager", "compile", "bf16 weights", "bf16 weights, compile"),
    ("train", "f32"): ("eager", "compile", "fused SGD", "fused SGD, compile"),
    ("train", "bf16"): ("eager", "compile", "fused SGD", "fused SGD, compile"),
}
CHANNELS_LAST = "channels last"
# Huge pages: c10/core/impl/alloc_cpu.cpp of PyTorch 2 advises them for large tensors.
HUGE_PAGES = {"THP_MEM_ALLOC_ENABLE": "1"}
TCMALLOC = ctypes.util.find_library("tcmalloc_minimal")
ALLOCATORS = {"huge pages": HUGE_PAGES}
if TCMALLOC:
    ALLOCATORS["tcmalloc"] = {"LD_PRELOAD": TCMALLOC}
    ALLOCATORS["tcmalloc and huge pages"] = {"LD_PRELOAD": TCMALLOC, **HUGE_PAGES}


# topdnn's names of the operations that are torch's, without "forward" or "backward". Others keep
# their names. (Backward, `mm` and `sum` are the gradients of an inner product.)
OPERATIONS = {
    "conv": "mkldnn_convolution _mkldnn_convolution convolution_backward _convolution_pointwise "
    "_convolution_pointwise_ _slow_conv2d_forward",
    "batchnorm": "native_batch_norm native_batch_norm_backward _batch_norm_with_update "
    "batch_norm_backward",
    "layernorm": "native_layer_norm native_layer_norm_backward",
    "relu": "relu relu_ clamp_min clamp_min_ threshold_backward",
    "bounded_relu": "hardtanh hardtanh_ clamp hardtanh_backward",
    "pool": "max_pool2d_with_indices max_pool2d_with_indices_backward mkldnn_max_pool2d "
    "adaptive_avg_pool2d _adaptive_avg_pool2d _adaptive_avg_pool2d_backward mean div max_pool2d",
    "inner_product": "addmm mm sum _linear_pointwise linear",
    "add": "add add_",
    "concat": "cat",
    "dropout": "native_dropout bernoulli_ mul",
    "softmax_cross_entropy": "_log_softmax _log_softmax_backward_data nll_loss_forward "
    "nll_loss_backward",
    "reorder": "copy_ _to_copy clone",
}
NAMES = {name: ours for ours, names in OPERATIONS.items() for name in names.split()}


def operation_of(event):
    """The operation that an event of torch's profiler belongs to: of the event and those around it,
    the first that has one of the names above."""
    found, backward = None, False
    own = event.name
    while event is not None:
        if event.name.startswith("Optimizer.step"):
            return "update"
        backward = backward or event.name.startswith("autograd::engine")
        found = found or NAMES.get(event.name.split("::")[-1])
        event = event.cpu_parent
    if found is None:
        return "loops of torch.compile" if "cpp_fused" in own else "other"
    return found if found == "reorder" else f"{found} {'backward' if backward else 'forward'}"


def stages_of(step):
    """{OPERATION: milliseconds of a step}: means over three steps under torch's profiler."""
    steps = 3
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(steps):
            step()
    stages = {}
    for event in profiler.events():
        name = operation_of(event)
        stages[name] = stages.get(name, 0) + event.self_cpu_time_total / 1e3 / steps
    return stages


def inference_step(model, images, settings, bf16, profiled):
    model.eval()
    if "bf16 weights" in settings:
        model, images = model.bfloat16(), images.bfloat16()
    if "compile" in settings:
        torch._inductor.config.freezing = True  # weights as constants, in oneDNN's own layouts
        torch._inductor.config.cpp.enable_kernel_profile = profiled
        model = torch.compile(model)
    if {"jit", "jit for inference"} & settings:
        model = torch.jit.freeze(torch.jit.trace(model, images))
    if "jit for inference" in settings:
        model = torch.jit.optimize_for_inference(model)

    def step():
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            return model(images)

    return step


def training_step(model, images, labels, settings, bf16):
    model.train()
    fused = {"fused": True} if "fused SGD" in settings else {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, **fused)
    loss_of = torch.nn.CrossEntropyLoss()
    forward = torch.compile(model) if "compile" in settings else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            scores = forward(images)
        loss_of(scores.float(), labels).backward()
        optimizer.step()

    return step


def time_mode(task, mode):
    """The milliseconds of a step, and of its stages if the task asks for them."""
    torch.manual_seed(1)
    if hasattr(torch, "compiler"):
        torch.compiler.reset()
    settings = set(mode.split(", "))
    make, parameters, classes = NETWORKS[task["network"]]
    model = make()
    if sum(p.numel() for p in model.parameters()) != parameters:
        sys.exit(f"{task['network']} differs from topdnn's network of {parameters} parameters")
    layout = torch.channels_last if CHANNELS_LAST in settings else torch.contiguous_format
    model = model.to(memory_format=layout)
    images = torch.randn(task["batch"], 3, task["side"], task["side"]).to(memory_format=layout)
    bf16 = task["type"] == "bf16"
    if task["pass"] == "train":
        labels = torch.randint(0, classes, (task["batch"],))
        step = training_step(model, images, labels, settings, bf16)
    else:
        autocast = bf16 and "bf16 weights" not in settings
        step = inference_step(model, images, settings, autocast, task.get("stages", False))
    ms = median_ms(step, task)
    return ms, stages_of(step) if task.get("stages") else {}


def allocator_of(mode):
    return next((name for name in ALLOCATORS if mode.endswith(f", {name}")), None)


def time_with_allocator(task, mode):
    """Times the mode in another process, as an allocator is chosen before Python starts."""
    allocator = allocator_of(mode)
    child = subprocess.run(
        [sys.executable, __file__, json.dumps({**task, "modes": [mode]})],
        env={**os.environ, **ALLOCATORS[allocator], "TOPDNN_ALLOCATOR": allocator},
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(child.stdout)
    return answer["modes"][mode], answer["stages"][mode]


def time_modes(task, modes):
    """The milliseconds of each mode and of its stages, and why modes failed."""
    times, stages, failed = {}, {}, {}
    for mode in modes:
        here = allocator_of(mode) == os.environ.get("TOPDNN_ALLOCATOR")
        try:
            time = time_mode if here else time_with_allocator
            times[mode], stages[mode] = time(task, mode)
        except Exception as error:  # of PyTorch or of a compiler, of any class
            failed[mode] = (str(error).strip() or repr(error)).splitlines()[-1][:100]
    return times, stages, failed


def main():
    if sys.argv[1:] == ["--version"]:
        return {"framework": f"PyTorch {torch.__version__}"}
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    executions = EXECUTIONS.get((task["pass"], task["type"]), ())
    layouts = ("", f", {CHANNELS_LAST}")
    every = task["modes"] is None
    modes = map("".join, itertools.product(executions, layouts)) if every else task["modes"]
    times, stages, failed = time_modes(task, modes)
    if every and times:
        fastest = min(times, key=times.get)
        more = time_modes(task, [f"{fastest}, {allocator}" for allocator in ALLOCATORS])
        times |= more[0]
        failed |= more[2]
    return {"modes": times, "stages": stages, "failed": failed}


print(json.dumps(main()))
