"""Training of the networks on simulated releases: needs PyTorch, which nothing else does."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
from safetensors.numpy import load_file, save_file

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.corrected import CORRECTION, NEUTRAL
from hexcursion_peers.neural.inputs import network_inputs
from hexcursion_peers.neural.line import INSIDE, LINE, at_pixels
from hexcursion_peers.neural.network import LEAST_SD, MAP, Layout
from hexcursion_peers.neural.simulated.line_tasks import LineSimulator
from hexcursion_peers.neural.simulated.tasks import LARGEST, Simulator

Subject = Literal["map", "line", "correction"]
"""Which network is trained: the mechanism's, that of the studies on a line, or that of spectral readings."""

RATE, WARM = 1.5e-3, 100
CHECKS = 20_261_124
"""Seed of the tasks that score a training, the same for all of them."""


def _torch() -> Any:
    try:
        return importlib.import_module("torch")  # an extra of its own: nothing else may come to need it
    except ImportError as error:
        raise InvalidValue(
            "training needs PyTorch: pip install 'hexcursion-peers[train]'. A release does not need it."
        ) from error


class Course(Protocol):
    """Where a training's tasks come from and how it is judged."""

    layout: Layout

    def batch(self, count: int) -> tuple[Any, ...]:
        """Arrays of `count` fresh tasks, channels and context first."""
        ...

    def losses(self, mean: Any, sd: Any, *targets: Any) -> tuple[Any, Any]:
        """Mean negative log density, and the penalties that are added to it."""
        ...


class MapCourse:
    """Fields on a map: their density, and whether they exceed a random level."""

    layout = MAP

    def __init__(self, torch: Any, seed: int) -> None:
        self._torch, self._simulator = torch, Simulator(seed)
        self._levels = np.random.default_rng(seed + 1)

    def batch(self, count: int) -> tuple[Any, ...]:
        """Channels, context, truth, domain and level."""
        tasks = self._simulator.tasks(count)
        channels, context = network_inputs(tasks.seen, tasks.encoders)
        truth = np.clip(tasks.truth, -LARGEST, LARGEST).astype(np.float32)
        level = self._levels.standard_normal(count).astype(np.float32)
        return channels, context, truth, tasks.inside.astype(np.float32), level

    def losses(self, mean: Any, sd: Any, *targets: Any) -> tuple[Any, Any]:
        """Mean negative log density of the fields, and mean cross-entropy of their exceedance."""
        torch, f = self._torch, self._torch.nn.functional
        truth, inside, level = targets
        fine = f.interpolate(
            torch.stack([mean, sd], dim=1), scale_factor=2.0, mode="bilinear", align_corners=False
        )
        mean, sd = fine[:, 0], fine[:, 1]
        weight = inside / inside.sum(dim=(1, 2), keepdim=True) / len(truth)
        z = (truth - mean) / sd
        nll = 0.5 * z * z + torch.log(sd) + 0.5 * math.log(2.0 * math.pi)
        chance = 0.5 * torch.erfc((level[:, None, None] - mean) / sd / math.sqrt(2.0))
        above = (truth > level[:, None, None]).float()
        cross = f.binary_cross_entropy(chance.clamp(1e-5, 1.0 - 1e-5), above, reduction="none")
        return (nll * weight).sum(), (cross * weight).sum()


class LineCourse:
    """Responses on a line: their density, the scatter around the field averaged out."""

    layout = LINE

    def __init__(self, torch: Any, seed: int) -> None:
        self._torch, self._simulator = torch, LineSimulator(seed)

    def batch(self, count: int) -> tuple[Any, ...]:
        """Channels, context, the field at the pixels of the domain, and the variance of a response."""
        tasks = self._simulator.tasks(count)
        field = at_pixels(tasks.field)[:, INSIDE].astype(np.float32)
        return tasks.channels, tasks.context, field, np.square(tasks.scatter)[:, None].astype(np.float32)

    def losses(self, mean: Any, sd: Any, *targets: Any) -> tuple[Any, Any]:
        """Expected negative log density of a response, and nothing."""
        field, variance = targets
        inside = self._torch.from_numpy(INSIDE).to(mean.device)
        mean, sd = mean[:, inside], sd[:, inside]
        nll = 0.5 * ((field - mean) ** 2 + variance) / sd**2 + self._torch.log(sd)
        return nll.mean() + 0.5 * math.log(2.0 * math.pi), self._torch.zeros(())


class CorrectionCourse:
    """Stored readings of spectral statistics, turned and mirrored, and the fields that they missed."""

    layout = CORRECTION

    def __init__(self, torch: Any, seed: int, pool: Path) -> None:
        self._torch, self._rng = torch, np.random.default_rng(seed)
        with np.load(pool) as arrays:
            self._parts = [arrays[name] for name in ("channels", "context", "truth")]
        self._waiting: list[int] = []

    def batch(self, count: int) -> tuple[Any, ...]:
        """Channels, context, truth, domain and level; each stored release once before any comes again."""
        while len(self._waiting) < count:
            self._waiting += self._rng.permutation(len(self._parts[0])).tolist()
        now, self._waiting = self._waiting[:count], self._waiting[count:]
        channels, context, truth = (part[now].astype(np.float32) for part in self._parts)
        for k in range(count):
            turns, mirrored = int(self._rng.integers(4)), self._rng.integers(2)
            for fields in (channels, truth):
                turned = np.rot90(fields[k], turns, axes=(-2, -1))
                fields[k] = np.array(turned[..., ::-1] if mirrored else turned)
        inside = np.repeat(np.repeat(channels[:, -1], 2, axis=1), 2, axis=2)
        return channels, context, truth, inside, self._rng.standard_normal(count).astype(np.float32), channels

    def losses(self, mean: Any, sd: Any, *targets: Any) -> tuple[Any, Any]:
        """As `MapCourse.losses`, of the corrected reading."""
        *map_targets, channels = targets
        corrected = channels[:, 0] + mean, (channels[:, 1] * sd / NEUTRAL).clamp(min=LEAST_SD)
        return MapCourse.losses(self, *corrected, *map_targets)  # type: ignore[arg-type]


def course_of(subject: Subject, torch: Any, seed: int, pool: Path | None = None) -> Course:
    """The course of a subject, its tasks drawn from a seed, or from a file of simulated releases; raises
    InvalidValue if a subject that needs such a file is given none."""
    if subject == "correction":
        if pool is None:
            raise InvalidValue(
                "simulate releases first: python -m hexcursion_peers.neural.simulated.corrected_tasks "
                "--out pool.npz, and name the file with --pool, another one, of another seed, with --checks."
            )
        return CorrectionCourse(torch, seed, pool)
    return MapCourse(torch, seed) if subject == "map" else LineCourse(torch, seed)


def fresh_weights(torch: Any, layout: Layout, seed: int) -> dict[str, Any]:
    """Arrays of weights drawn as He and colleagues propose, ready to be trained."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in layout.shapes().items():
        if name.endswith("bias"):
            value = torch.zeros(shape)
        else:
            value = torch.randn(shape, generator=generator) * math.sqrt(2.0 / math.prod(shape[1:]))
            value *= 0.3 if name.endswith(".context") or name.startswith("head") else 1.0
        weights[name] = value
    return weights


def forward(torch: Any, layout: Layout, w: dict[str, Any], channels: Any, context: Any) -> tuple[Any, Any]:
    """What `network.Network` computes, with gradients."""
    f, axes = torch.nn.functional, len(layout.taps)
    convolve, halve = (f.conv2d, f.avg_pool2d) if axes == 2 else (f.conv1d, f.avg_pool1d)
    hidden = torch.relu(context @ w["context.weight"].T + w["context.bias"])

    def everywhere(x: Any) -> Any:
        return x.reshape(*x.shape, *[1] * axes)

    def block(name: str, x: Any) -> Any:
        out = convolve(x, w[f"{name}.weight"], w[f"{name}.bias"], padding=layout.taps[0] // 2)
        return torch.relu(out + everywhere(hidden @ w[f"{name}.context"].T))

    levels, x = [], channels
    for level in range(len(layout.widths)):
        x = block(f"down{level}b", block(f"down{level}a", x if level == 0 else halve(x, 2)))
        levels.append(x)
    for level in reversed(range(len(levels) - 1)):
        x = block(f"up{level}", torch.cat([f.interpolate(x, scale_factor=2.0), levels[level]], dim=1))
    x = torch.cat([x, channels], dim=1)
    out = torch.einsum("oc,bc...->bo...", w["head.weight"], x)
    out = out + everywhere(w["head.bias"] + hidden @ w["head.context"].T)
    return out[:, 0], f.softplus(out[:, 1]) + LEAST_SD


def train(
    out: Path,
    seconds: float,
    batch: int,
    seed: int,
    threads: int,
    subject: Subject = "map",
    start: Path | None = None,
    pools: tuple[Path | None, Path | None] = (None, None),
) -> None:
    """Train for a time and write weights, averaged over the last steps, and the log.

    With `start`, a file of weights with its log, the training goes on from there at half the rate; `seed`
    should then be another one, or the same tasks come again.
    """
    torch = _torch()
    torch.set_num_threads(threads)
    course = course_of(subject, torch, seed, pools[0])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arrays, log_before, peak = fresh_weights(torch, course.layout, seed), None, RATE
    if subject == "correction":  # begins as the reading that it corrects
        arrays = {name: value * (not name.startswith("head")) for name, value in arrays.items()}
    if start is not None:
        arrays = {name: torch.from_numpy(value) for name, value in load_file(start).items()}
        log_before, peak = json.loads(start.with_suffix(".json").read_text()), RATE / 2.0
    weights = {name: value.to(device).requires_grad_(True) for name, value in arrays.items()}

    def drawn(source: Course, count: int) -> list[Any]:
        tensors = [torch.from_numpy(part).to(device) for part in source.batch(count)]
        if tensors[0].ndim == 4:
            tensors[0] = tensors[0].contiguous(memory_format=torch.channels_last)
        return tensors

    def judged(values: dict[str, Any], tasks: list[Any]) -> tuple[Any, Any]:
        mean, sd = forward(torch, course.layout, values, tasks[0], tasks[1])
        return course.losses(mean, sd, *tasks[2:])

    average = {name: value.detach().clone() for name, value in weights.items()}
    optimiser = torch.optim.AdamW(weights.values(), lr=peak, weight_decay=1e-4)
    check = drawn(course_of(subject, torch, CHECKS, pools[1]), 256)
    log: list[dict[str, float]] = []
    begun, step, loss_and_steps = time.monotonic(), 0, [0.0, 0.0]

    def save() -> None:
        with torch.no_grad():
            nll, cross = (float(loss) for loss in judged(average, check))
        log.append(
            {
                "step": step,
                "seconds": round(time.monotonic() - begun, 1),
                "training": round(loss_and_steps[0] / max(loss_and_steps[1], 1e-9), 4),
                "nll": round(nll, 4),
                "exceedance": round(cross, 4),
            }
        )
        print(json.dumps(log[-1]), flush=True)
        arrays = {name: value.cpu().numpy() for name, value in average.items()}
        save_file(arrays, out, metadata={"seed": str(seed), "steps": str(step)})
        facts = {
            "seed": seed,
            "batch": batch,
            "steps": step,
            "tasks": step * batch,
            "device": device,
            "torch": torch.__version__,
            "threads": threads,
            "rate": peak,
            "validation tasks": 256,
            "log": log,
            "continues": log_before,
        }
        out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        loss_and_steps[:] = [0.0, 0.0]

    if subject == "correction":
        save()
    while (spent := time.monotonic() - begun) < seconds:
        rate = (
            peak
            * min(1.0, (step + 1) / WARM)
            * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * spent / seconds)))
        )
        for group in optimiser.param_groups:
            group["lr"] = rate
        nll, cross = judged(weights, drawn(course, batch))
        optimiser.zero_grad()
        (nll + cross).backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimiser.step()
        step += 1
        loss_and_steps[0], loss_and_steps[1] = (
            loss_and_steps[0] + float(nll.detach()),
            loss_and_steps[1] + 1.0,
        )
        with torch.no_grad():
            keep = min(0.995, step / (step + 10.0))
            for name, value in weights.items():
                average[name].lerp_(value, 1.0 - keep)
        if step % 250 == 0:
            save()
    save()


def main() -> None:
    """`python -m hexcursion_peers.neural.simulated.train --out FILE.safetensors`."""
    parser = argparse.ArgumentParser(description="Train the network of the mechanism convcnp.")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .safetensors")
    parser.add_argument("--subject", choices=get_args(Subject), default="map")
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pool", type=Path, help="simulated releases to train on, for the correction")
    parser.add_argument("--checks", type=Path, help="others, on which that training is judged")
    parser.add_argument("--start", type=Path, help="weights to go on from, with their log beside them")
    options = parser.parse_args()
    train(
        options.out,
        options.seconds,
        options.batch,
        options.seed,
        options.threads,
        options.subject,
        options.start,
        (options.pool, options.checks),
    )


if __name__ == "__main__":
    main()
