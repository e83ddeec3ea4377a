"""Training of the network on simulated releases: needs PyTorch, which nothing else does."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from dpgp_core.convcnp.inputs import network_inputs
from dpgp_core.convcnp.network import LEAST_SD, shapes
from dpgp_core.convcnp.tasks import LARGEST, Simulator, Tasks
from dpgp_core.errors import InvalidValue

RATE, WARM = 1.5e-3, 100


def _torch() -> Any:
    try:
        return importlib.import_module("torch")  # an extra of its own: nothing else may come to need it
    except ImportError as error:
        raise InvalidValue(
            "training needs PyTorch: pip install 'hexcursion[convcnp]'. A release does not need it."
        ) from error


def fresh_weights(torch: Any, seed: int, device: str) -> dict[str, Any]:
    """Arrays of weights drawn as He and colleagues propose, ready to be trained."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for name, shape in shapes().items():
        if name.endswith("bias"):
            value = torch.zeros(shape)
        else:
            value = torch.randn(shape, generator=generator) * math.sqrt(2.0 / math.prod(shape[1:]))
            value *= 0.3 if name.endswith(".context") or name.startswith("head") else 1.0
        found[name] = value.to(device).requires_grad_(True)
    return found


def forward(torch: Any, w: dict[str, Any], channels: Any, context: Any) -> tuple[Any, Any]:
    """What `network.Network` computes, with gradients."""
    f = torch.nn.functional
    told = torch.relu(context @ w["context.weight"].T + w["context.bias"])

    def block(name: str, x: Any) -> Any:
        shift = told @ w[f"{name}.context"].T
        return torch.relu(
            f.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], padding=1) + shift[:, :, None, None]
        )

    levels, x = [], channels
    for level in range(4):
        x = block(f"down{level}b", block(f"down{level}a", x if level == 0 else f.avg_pool2d(x, 2)))
        levels.append(x)
    for level in (2, 1, 0):
        x = block(f"up{level}", torch.cat([f.interpolate(x, scale_factor=2.0), levels[level]], dim=1))
    x = torch.cat([x, channels], dim=1)
    shift = w["head.bias"] + told @ w["head.context"].T
    out = f.conv2d(x, w["head.weight"][:, :, None, None]) + shift[:, :, None, None]
    return out[:, 0], f.softplus(out[:, 1]) + LEAST_SD


def loss_of(torch: Any, mean: Any, sd: Any, truth: Any, inside: Any, level: Any) -> tuple[Any, Any]:
    """Mean negative log density of the fields, and mean cross-entropy of their exceedance of `level`."""
    f = torch.nn.functional
    both = f.interpolate(
        torch.stack([mean, sd], dim=1), scale_factor=2.0, mode="bilinear", align_corners=False
    )
    mean, sd = both[:, 0], both[:, 1]
    weight = inside / inside.sum(dim=(1, 2), keepdim=True) / len(truth)
    z = (truth - mean) / sd
    nll = 0.5 * z * z + torch.log(sd) + 0.5 * math.log(2.0 * math.pi)
    chance = 0.5 * torch.erfc((level[:, None, None] - mean) / sd / math.sqrt(2.0))
    above = (truth > level[:, None, None]).float()
    cross = f.binary_cross_entropy(chance.clamp(1e-5, 1.0 - 1e-5), above, reduction="none")
    return (nll * weight).sum(), (cross * weight).sum()


def tensors(torch: Any, tasks: Tasks, device: str) -> tuple[Any, ...]:
    """Channels, context, truth and domain of simulated tasks."""
    channels, context = network_inputs(tasks.seen, tasks.encoders)
    truth = np.clip(tasks.truth, -LARGEST, LARGEST).astype(np.float32)
    parts = (channels, context, truth, tasks.inside.astype(np.float32))
    made = [torch.from_numpy(part).to(device) for part in parts]
    return made[0].contiguous(memory_format=torch.channels_last), *made[1:]


def train(out: Path, seconds: float, batch: int, seed: int, threads: int) -> None:
    """Train for a time and write weights, averaged over the last steps, and the log beside them."""
    torch = _torch()
    torch.set_num_threads(threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights = fresh_weights(torch, seed, device)
    average = {name: value.detach().clone() for name, value in weights.items()}
    optimiser = torch.optim.AdamW(weights.values(), lr=RATE, weight_decay=1e-4)
    simulator, levels = Simulator(seed), np.random.default_rng(seed + 1)
    check = tensors(torch, Simulator(seed + 2).tasks(256), device)
    checked = torch.from_numpy(np.random.default_rng(seed + 3).standard_normal(256).astype(np.float32)).to(
        device
    )
    log: list[dict[str, float]] = []
    begun, step, seen = time.monotonic(), 0, [0.0, 0.0]

    def save() -> None:
        with torch.no_grad():
            mean, sd = forward(torch, average, check[0], check[1])
            nll, cross = (float(each) for each in loss_of(torch, mean, sd, check[2], check[3], checked))
        log.append({
            "step": step, "seconds": round(time.monotonic() - begun, 1),
            "training": round(seen[0] / max(seen[1], 1e-9), 4), "nll": round(nll, 4),
            "exceedance": round(cross, 4),
        })  # fmt: skip
        print(json.dumps(log[-1]), flush=True)
        arrays = {name: value.cpu().numpy() for name, value in average.items()}
        save_file(arrays, out, metadata={"seed": str(seed), "steps": str(step)})
        facts = {
            "seed": seed, "batch": batch, "steps": step, "tasks": step * batch, "device": device,
            "torch": torch.__version__,
            "threads": threads, "rate": RATE, "validation tasks": 256, "log": log,
        }  # fmt: skip
        out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        seen[:] = [0.0, 0.0]

    while (spent := time.monotonic() - begun) < seconds:
        rate = (
            RATE
            * min(1.0, (step + 1) / WARM)
            * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * spent / seconds)))
        )
        for group in optimiser.param_groups:
            group["lr"] = rate
        channels, context, truth, inside = tensors(torch, simulator.tasks(batch), device)
        level = torch.from_numpy(levels.standard_normal(batch).astype(np.float32)).to(device)
        mean, sd = forward(torch, weights, channels, context)
        nll, cross = loss_of(torch, mean, sd, truth, inside, level)
        optimiser.zero_grad()
        (nll + cross).backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimiser.step()
        step += 1
        seen[0], seen[1] = seen[0] + float(nll.detach()), seen[1] + 1.0
        with torch.no_grad():
            keep = min(0.995, step / (step + 10.0))
            for name, value in weights.items():
                average[name].lerp_(value, 1.0 - keep)
        if step % 250 == 0:
            save()
    save()


def main() -> None:
    """`python -m dpgp_core.convcnp.train --out FILE.safetensors`."""
    parser = argparse.ArgumentParser(description="Train the network of the mechanism convcnp.")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .safetensors")
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    train(given.out, given.seconds, given.batch, given.seed, given.threads)


if __name__ == "__main__":
    main()
