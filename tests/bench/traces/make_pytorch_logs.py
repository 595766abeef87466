#!/usr/bin/env python3
"""Runs a network once in PyTorch; oneDNN prints what it executes.

    OMP_NUM_THREADS=2 ONEDNN_VERBOSE=1 python3 make_pytorch_logs.py convnext > pytorch-convnext-train.log

README.md names the versions of the stored logs. The weights are random: nothing is downloaded.
"""

import sys

import torch
import torchvision
from torch import nn


def conv(channels_in, channels_out, kernel=1, stride=1):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(channels_out), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.layers = nn.Sequential(conv(channels, channels, 3), conv(channels, channels, 3))
        self.shortcut = shortcut

    def forward(self, x):
        return x + self.layers(x) if self.shortcut else self.layers(x)


class C2f(nn.Module):
    def __init__(self, channels_in, channels_out, n, shortcut=False):
        super().__init__()
        self.first = conv(channels_in, channels_out)
        self.last = conv((2 + n) * channels_out // 2, channels_out)
        self.parts = nn.ModuleList(Bottleneck(channels_out // 2, shortcut) for _ in range(n))

    def forward(self, x):
        pieces = list(self.first(x).chunk(2, 1))
        for part in self.parts:
            pieces.append(part(pieces[-1]))
        return self.last(torch.cat(pieces, 1))


class Sppf(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = conv(channels, channels // 2)
        self.last = conv(2 * channels, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        pieces = [self.first(x)]
        for _ in range(3):
            pieces.append(self.pool(pieces[-1]))
        return self.last(torch.cat(pieces, 1))


class Detector(nn.Module):
    """The layers of YOLOv8n: backbone, neck, and a head for 80 classes, without post-processing."""

    def __init__(self):
        super().__init__()
        self.to_8 = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), C2f(32, 32, 1, True),
                                  conv(32, 64, 3, 2), C2f(64, 64, 2, True))
        self.to_16 = nn.Sequential(conv(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.to_32 = nn.Sequential(conv(128, 256, 3, 2), C2f(256, 256, 1, True), Sppf(256))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.up_16, self.up_8 = C2f(384, 128, 1), C2f(192, 64, 1)
        self.down_16, self.join_16 = conv(64, 64, 3, 2), C2f(192, 128, 1)
        self.down_32, self.join_32 = conv(128, 128, 3, 2), C2f(384, 256, 1)

        def head(channels, width, results):
            return nn.Sequential(conv(channels, width, 3), conv(width, width, 3),
                                 nn.Conv2d(width, results, 1))
        self.boxes = nn.ModuleList(head(c, 64, 64) for c in (64, 128, 256))
        self.classes = nn.ModuleList(head(c, 80, 80) for c in (64, 128, 256))

    def forward(self, x):
        x8 = self.to_8(x)
        x16 = self.to_16(x8)
        x32 = self.to_32(x16)
        n16 = self.up_16(torch.cat([self.up(x32), x16], 1))
        n8 = self.up_8(torch.cat([self.up(n16), x8], 1))
        n16 = self.join_16(torch.cat([self.down_16(n8), n16], 1))
        n32 = self.join_32(torch.cat([self.down_32(n16), x32], 1))
        return [torch.cat([box(n), name(n)], 1)
                for n, box, name in zip((n8, n16, n32), self.boxes, self.classes)]


def train(network, images, bf16=False):
    update = torch.optim.SGD(network.parameters(), lr=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        results = network(images)
    results = results if isinstance(results, list) else [results]
    sum(result.float().square().mean() for result in results).backward()
    update.step()


RUNS = {
    "convnext": lambda: train(torchvision.models.convnext_tiny(), torch.randn(2, 3, 96, 96)),
    "efficientnet": lambda: train(torchvision.models.efficientnet_b0(), torch.randn(2, 3, 96, 96)),
    "resnet50_bf16": lambda: train(torchvision.models.resnet50(), torch.randn(2, 3, 96, 96), True),
    "detector": lambda: train(Detector(), torch.randn(2, 3, 160, 160)),
}

torch.manual_seed(1)
RUNS[sys.argv[1]]()
