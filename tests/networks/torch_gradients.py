#!/usr/bin/env python3
"""Writes tests/networks/gradients/NET.csv: one training step of each network in float64.

    torch_gradients.py [--check] [NET...]

Without --check it writes the files, with it it compares them with a new computation. It needs
PyTorch and torchvision (Debian: python3-torch, python3-torchvision) and ends with status 77
without them. The tests read the files: torch_gradients_slow_test.cc, which has the same inputs.

The networks are torchvision's; it has no U-Net and no YOLO, so theirs are built here of PyTorch's
layers. Batch 2, ten classes, labels 3 and 1 (at each place of an image), no dropout, no stochastic
depth. Every value is drawn from its
index and from the number of its tensor in the order of execution (0 is the image), so that both
sides have the same ones. A row has a tensor's number of elements, the Euclidean norm of its
gradient, and the gradient's product with drawn values; the first row has the loss.
"""
import pathlib
import re
import sys

try:
    import numpy
    import torch
    import torchvision
except ImportError as error:
    print(f"skipped: {error}; install python3-torch and python3-torchvision")
    sys.exit(77)

NN = torch.nn


class UNet(NN.Module):
    """Ronneberger et al. 2015, with padding, batch normalization and transposed convolutions."""

    def __init__(self, classes):
        super().__init__()
        widths = [64, 128, 256, 512, 1024]
        self.down = NN.ModuleList(
            self.pair(before, after) for before, after in zip([3] + widths, widths)
        )
        self.up = NN.ModuleList(
            NN.ModuleList([NN.ConvTranspose2d(2 * w, w, 2, 2), self.pair(2 * w, w)])
            for w in reversed(widths[:-1])
        )
        self.out = NN.Conv2d(64, classes, 1)

    @staticmethod
    def pair(before, after):
        layers = []
        for channels in (before, after):
            layers += [NN.Conv2d(channels, after, 3, padding=1, bias=False)]
            layers += [NN.BatchNorm2d(after), NN.ReLU()]
        return NN.Sequential(*layers)

    def forward(self, x):
        levels = []
        for down in self.down:
            x = down(NN.functional.max_pool2d(x, 2) if levels else x)
            levels.append(x)
        for (enlarge, pair), skipped in zip(self.up, reversed(levels[:-1])):
            x = pair(torch.cat([skipped, enlarge(x)], 1))
        return self.out(x)


class Unit(NN.Sequential):
    """YOLO's convolution with batch normalization and SiLU."""

    def __init__(self, before, after, kernel, stride=1):
        conv = NN.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
        super().__init__(conv, NN.BatchNorm2d(after, eps=1e-3), NN.SiLU())


class Split(NN.Module):
    """YOLOv8's C2f."""

    def __init__(self, before, after, pairs, shortcuts):
        super().__init__()
        half = after // 2
        self.first = Unit(before, after, 1)
        self.last = Unit((2 + pairs) * half, after, 1)
        self.pairs = NN.ModuleList(
            NN.Sequential(Unit(half, half, 3), Unit(half, half, 3)) for _ in range(pairs)
        )
        self.shortcuts = shortcuts

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for pair in self.pairs:
            y = pair(parts[-1])
            parts.append(y + parts[-1] if self.shortcuts else y)
        return self.last(torch.cat(parts, 1))


class Yolov8n(NN.Module):
    """Backbone, neck and head; the result is (N, 64 + classes, places of the three scales)."""

    def __init__(self, classes):
        super().__init__()
        self.stem = NN.Sequential(Unit(3, 16, 3, 2), Unit(16, 32, 3, 2), Split(32, 32, 1, True))
        self.third = NN.Sequential(Unit(32, 64, 3, 2), Split(64, 64, 2, True))
        self.fourth = NN.Sequential(Unit(64, 128, 3, 2), Split(128, 128, 2, True))
        self.fifth = NN.Sequential(Unit(128, 256, 3, 2), Split(256, 256, 1, True))
        self.pyramid = NN.ModuleList([Unit(256, 128, 1), Unit(512, 256, 1)])
        self.up4, self.up3 = Split(384, 128, 1, False), Split(192, 64, 1, False)
        self.down4, self.join4 = Unit(64, 64, 3, 2), Split(192, 128, 1, False)
        self.down5, self.join5 = Unit(128, 128, 3, 2), Split(384, 256, 1, False)
        wide = max(64, min(classes, 100))
        self.heads = NN.ModuleList(
            NN.ModuleList(
                NN.Sequential(Unit(c, w, 3), Unit(w, w, 3), NN.Conv2d(w, outputs, 1))
                for w, outputs in ((64, 64), (wide, classes))
            )
            for c in (64, 128, 256)
        )

    def forward(self, x):
        third = self.third(self.stem(x))
        fourth = self.fourth(third)
        parts = [self.pyramid[0](self.fifth(fourth))]
        for _ in range(3):
            parts.append(NN.functional.max_pool2d(parts[-1], 5, 1, 2))
        fifth = self.pyramid[1](torch.cat(parts, 1))
        enlarge = NN.Upsample(scale_factor=2)
        up4 = self.up4(torch.cat([enlarge(fifth), fourth], 1))
        up3 = self.up3(torch.cat([enlarge(up4), third], 1))
        join4 = self.join4(torch.cat([self.down4(up3), up4], 1))
        join5 = self.join5(torch.cat([self.down5(join4), fifth], 1))
        scales = []
        for (boxes, classes), y in zip(self.heads, (up3, join4, join5)):
            scales.append(torch.cat([boxes(y), classes(y)], 1).flatten(2))
        return torch.cat(scales, 2)


MODELS = torchvision.models
# The network and the extent of its image.
NETWORKS = {
    "squeezenet": (lambda: MODELS.squeezenet1_1(num_classes=10), 64),
    "squeezenet_v1.0": (lambda: MODELS.squeezenet1_0(num_classes=10), 64),
    "densenet121": (lambda: MODELS.densenet121(num_classes=10), 64),
    "inception_v3": (
        lambda: MODELS.inception_v3(num_classes=10, aux_logits=False, init_weights=False),
        75,
    ),
    "resnet18": (lambda: MODELS.resnet18(num_classes=10), 64),
    "resnet50": (lambda: MODELS.resnet50(num_classes=10), 64),
    "resnext50": (lambda: MODELS.resnext50_32x4d(num_classes=10), 64),
    "mobilenet_v2": (lambda: MODELS.mobilenet_v2(num_classes=10), 64),
    "shufflenet_v2": (lambda: MODELS.shufflenet_v2_x1_0(num_classes=10), 64),
    "mnasnet": (lambda: MODELS.mnasnet1_0(num_classes=10), 64),
    "regnet_y_400mf": (lambda: MODELS.regnet_y_400mf(num_classes=10), 64),
    "mobilenet_v3_small": (lambda: MODELS.mobilenet_v3_small(num_classes=10), 64),
    "mobilenet_v3_large": (lambda: MODELS.mobilenet_v3_large(num_classes=10), 64),
    "efficientnet_b0": (lambda: MODELS.efficientnet_b0(num_classes=10), 64),
    "convnext_tiny": (lambda: MODELS.convnext_tiny(num_classes=10), 64),
    "unet": (lambda: UNet(10), 32),
    "yolov8n": (lambda: Yolov8n(10), 64),
}
FOLDER = pathlib.Path(__file__).parent / "gradients"
PROJECTION = 1000  # added to a tensor's number for the values that its gradient is multiplied by


def drawn(tensor, count):
    """Values from -1 to 1: SplitMix64 (Steele, Lea and Flood 2014) of the tensor and the index."""
    z = numpy.arange(count, dtype=numpy.uint64) + (numpy.uint64(tensor) << numpy.uint64(32))
    z = (z + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-52 - 1.0


def in_order(net, image):
    """The layers with parameters in the order of execution, shortcuts before their block."""
    layers = []
    names = {module: name for name, module in net.named_modules()}

    def record(module, *_):
        layers.append(module)

    hooks = [
        module.register_forward_hook(record)
        for module in net.modules()
        if list(module.parameters(recurse=False))
    ]
    with torch.no_grad():
        net(image)
    for hook in hooks:
        hook.remove()
    # ResNet computes `downsample` after the branch; topdnn computes it before.
    ordered = []
    for layer in layers:
        name = names[layer]
        block = re.match(r"(.*)\.downsample\.", name)
        at = len(ordered)
        if block:
            own = [i for i, one in enumerate(ordered) if names[one].startswith(block[1] + ".")]
            at = next((i for i in own if ".downsample." not in names[ordered[i]]), at)
        ordered.insert(at, layer)
    return [(names[layer], layer) for layer in ordered]


def hard_gate(x):
    """PyTorch's hard sigmoid, with the factor 1/6 that topdnn has in f32."""
    return torch.clamp(float(numpy.float32(1) / numpy.float32(6)) * x + 0.5, 0, 1)


def rows_of(name):
    make, extent = NETWORKS[name]
    net = make().double().train()
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(module, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)):
            module.eps = float(numpy.float32(module.eps))  # topdnn has it in f32
        if isinstance(module, torch.nn.Hardsigmoid):
            module.forward = hard_gate
        if isinstance(module, torch.nn.Hardswish):
            module.forward = lambda x: x * hard_gate(x)
        if isinstance(module, torchvision.ops.StochasticDepth):
            module.p = 0.0
    image = torch.from_numpy(drawn(0, 2 * 3 * extent * extent)).reshape(2, 3, extent, extent)
    tensors = []
    for layer_name, layer in in_order(net, image):
        norm = isinstance(layer, (torch.nn.BatchNorm2d, torch.nn.LayerNorm))
        transposed = isinstance(layer, torch.nn.ConvTranspose2d)
        for kind, value in layer.named_parameters(recurse=False):
            tensors.append((f"{layer_name}.{kind}", value))
            draws = drawn(len(tensors), value.numel())
            if kind == "bias":
                draws = 0.1 * draws
            elif norm or kind == "layer_scale":
                draws = 1.0 + 0.2 * draws
            else:
                fan_in = (value[:, 0] if transposed else value[0]).numel()
                draws = numpy.sqrt(6.0 / fan_in) * draws
            with torch.no_grad():
                value.copy_(torch.from_numpy(draws).reshape(value.shape))
    logits = net(image)
    labels = torch.tensor([3, 1]).reshape([2] + [1] * (logits.dim() - 2))
    labels = labels.expand([2] + list(logits.shape[2:]))
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    rows = [("loss", 1, abs(loss.item()), loss.item())]
    for number, (full_name, value) in enumerate(tensors, start=1):
        gradient = value.grad.numpy().ravel()
        projected = float(gradient @ drawn(PROJECTION + number, gradient.size))
        rows.append((full_name, gradient.size, float(numpy.linalg.norm(gradient)), projected))
    return rows


def main(arguments):
    check = "--check" in arguments
    wrong = 0
    for name in [one for one in arguments if one != "--check"] or NETWORKS:
        rows = rows_of(name)
        path = FOLDER / f"{name}.csv"
        if not check:
            lines = [f"{row[0]},{row[1]},{row[2]:.12e},{row[3]:.12e}\n" for row in rows]
            source = f"torchvision {torchvision.__version__}, PyTorch {torch.__version__}"
            path.write_text(
                f"# A training step of {source} in float64: torch_gradients.py.\n"
                "tensor,elements,norm,projection\n" + "".join(lines)
            )
            continue
        stored = [line.split(",") for line in path.read_text().splitlines()[2:]]
        for row, old in zip(rows, stored, strict=True):
            difference = max(abs(row[i] - float(old[i])) for i in (2, 3))
            if row[0] != old[0] or difference > 1e-8 * row[2] + 1e-10:
                print(f"{path}: {row[0]} differs by {difference}: write the file again")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
