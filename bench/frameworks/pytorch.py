"""Times steps of a network in PyTorch, in each mode that may be the fastest on a CPU.

  pytorch.py NETWORK PASS TYPE BATCH THREADS SECONDS    {"modes": {MODE: milliseconds}}
  pytorch.py --version                                  {"framework": NAME} or {"absent": REASON}

The networks are torchvision's, and the small CNN of TensorFlow's tutorial. Each must have as many
parameters as topdnn's network of the same name. A training step is forward, loss, backward and an
update with momentum. In bf16 it uses autocast, with master weights in f32.
"""

import json
import sys

from timing import median_ms

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


# Maker, parameters, side of the image, classes.
NETWORKS = {
    "resnet50": (torchvision.models.resnet50, 25557032, 224, 1000),
    "googlenet:bn": (
        lambda: torchvision.models.googlenet(aux_logits=False, init_weights=False),
        6624904,
        224,
        1000,
    ),
    "alexnet:one-tower": (torchvision.models.alexnet, 61100840, 224, 1000),
    "cnn": (small_cnn, 122570, 32, 10),
}


def inference_modes(model, images, bf16, seconds):
    model.eval()
    with torch.no_grad():
        if bf16:
            with torch.cpu.amp.autocast(dtype=torch.bfloat16):
                yield "autocast", median_ms(lambda: model(images), seconds)
            model, images = model.bfloat16(), images.bfloat16()
        else:
            yield "eager", median_ms(lambda: model(images), seconds)
        frozen = torch.jit.freeze(torch.jit.trace(model, images))
        yield "jit", median_ms(lambda: frozen(images), seconds)
        if not bf16:
            tuned = torch.jit.optimize_for_inference(frozen)
            yield "jit for inference", median_ms(lambda: tuned(images), seconds)


def training_modes(model, images, labels, bf16, seconds):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.cpu.amp.autocast(enabled=bf16, dtype=torch.bfloat16):
            scores = model(images)
        loss_of(scores.float(), labels).backward()
        optimizer.step()

    yield "autocast" if bf16 else "eager", median_ms(step, seconds)


def main():
    if sys.argv[1:] == ["--version"]:
        return {"framework": f"PyTorch {torch.__version__}"}
    network, which, dtype, batch, threads, seconds = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    make, parameters, side, classes = NETWORKS[network]
    modes = {}
    for layout in (torch.contiguous_format, torch.channels_last):
        model = make()
        if sum(p.numel() for p in model.parameters()) != parameters:
            sys.exit(f"{network} differs from topdnn's network, which has {parameters} parameters")
        model = model.to(memory_format=layout)
        images = torch.randn(int(batch), 3, side, side).to(memory_format=layout)
        labels = torch.randint(0, classes, (int(batch),))
        bf16 = dtype == "bf16"
        if which == "train":
            timed = training_modes(model, images, labels, bf16, float(seconds))
        else:
            timed = inference_modes(model, images, bf16, float(seconds))
        suffix = ", channels last" if layout == torch.channels_last else ""
        modes.update({mode + suffix: ms for mode, ms in timed})
    return {"modes": modes}


print(json.dumps(main()))
