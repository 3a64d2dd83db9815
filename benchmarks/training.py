"""One training step and one evaluation pass on MNIST against the plain transcription of the paper in float64.

python -m benchmarks.training [--data DIR] [--json PATH] [--docs PATH]

Real MNIST (mnist.npz) is looked for in --data or in the directory named by XSDC_DATA; strokes drawn at random take its
place where it is absent, for the times do not depend on it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks import plain, plain_networks
from benchmarks.measure import best_seconds, markdown_table, milliseconds, write_between_markers, write_json
from benchmarks.networks import build, drawn_images, find_mnist, standardised
from xsdc.core.constraints import close
from xsdc.core.objective import decompose, one_hot
from xsdc.core.rounding import nearest_labels
from xsdc.core.sizes import ClassSizes
from xsdc.labelers import Balancing
from xsdc.networks import LayeredNetwork, make_steps, normalize_features
from xsdc.training import Batch, batch_objective
from xsdc.training.step import batch_features

DOCS = Path(__file__).parents[1] / "docs" / "results.md"
K, LAM, RATE = 10, 2.0**-10, 2.0**-6
LABELED, UNLABELED = 50, 1024
LAMBDAS = [2.0**i for i in range(-40, 1)]
Rows = list[tuple[str, float, float, float]]


def plain_step(images: Tensor, y: Tensor, filters: list[Tensor], network: LayeredNetwork) -> None:
    """One step as the paper writes it: n×n inverse, dense masks, autograd, then the step on the sphere."""
    layers = network.config.layers
    trained = [V for V, layer in zip(filters, layers, strict=True) if layer.trained]
    parts = []
    for part in (images[:LABELED], images[LABELED:]):
        Phi = plain_networks.conv_network(part, filters, layers)
        centred = Phi - Phi.mean(1, keepdim=True)
        parts.append(centred / centred.norm(dim=1).mean())
    Phi = torch.cat(parts)
    n = len(Phi)
    known, values = torch.eye(n, dtype=torch.bool), torch.eye(n, dtype=torch.float64)
    known[:LABELED, :LABELED] = True
    values[:LABELED, :LABELED] = (y[:LABELED, None] == y[None, :LABELED]).double()
    A = plain.cost_matrix(Phi, LAM)
    M = plain.balance(A.detach(), known=known, values=values, n_min=n / K, n_max=n / K, k=K)
    gradients = torch.autograd.grad(torch.trace(M @ A), trained)
    with torch.no_grad():
        for V, g in zip(trained, gradients, strict=True):
            norms = g.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
            moved = V - RATE * g / norms
            V.copy_(moved / moved.flatten(1).norm(dim=1).view(-1, 1, 1, 1))


def step_times(images: Tensor, y: Tensor) -> tuple[str, float, float, float]:
    """Time one step of each kind from the same filters; the last number is how far their filters end apart."""
    exact = build("lenet5-ckn", images.double(), dtype=torch.float64)
    fast = build("lenet5-ckn", images)
    start = {name: value.clone() for name, value in exact.state_dict().items()}
    steps = make_steps(fast, lr=RATE)
    labels = np.where(np.arange(len(images)) < LABELED, y.numpy(), -1)
    constraints = close(len(images), labels=labels, n_classes=K)
    batch = Batch(torch.arange(LABELED), torch.arange(LABELED, len(images)))
    generator = torch.Generator().manual_seed(0)

    def fresh_filters() -> list[Tensor]:
        pairs = zip(exact.layers, exact.config.layers, strict=True)
        return [layer.V.detach().clone().requires_grad_(config.trained) for layer, config in pairs]  # type: ignore[operator]

    def run_fast() -> None:
        fast.load_state_dict(start)
        Phi = batch_features(fast, images, batch, augment=None, generator=generator)
        sizes = ClassSizes.around(K, 1, 1)
        value = batch_objective(
            Phi,
            batch,
            constraints=constraints,
            labeler=Balancing(),
            sizes=sizes,
            lam=LAM,
            generator=generator,
        ).value
        for step in steps:
            step.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        for step in steps:
            step.step()

    double = images.double()
    filters = fresh_filters()
    slow = best_seconds(lambda: plain_step(double, y, fresh_filters(), exact), repeats=2)
    quick = best_seconds(run_fast, repeats=10)
    plain_step(double, y, filters, exact)
    run_fast()
    ended = [layer.V.detach().double() for layer in fast.layers]  # type: ignore[operator]
    apart = max(float((ours - V.detach()).norm() / V.detach().norm()) for ours, V in zip(ended, filters, strict=True))
    return f"training step, {LABELED} labeled + {UNLABELED:,} unlabeled", slow, quick, apart


def evaluation_times(images: Tensor, y: Tensor) -> tuple[str, float, float, float]:
    """Time features, nearest labels and 41 ridge classifiers; the last number is the share of scores that differ."""
    exact = build("lenet5-ckn", images[:1000].double(), dtype=torch.float64)
    fast = build("lenet5-ckn", images[:1000])
    fast.load_state_dict(exact.state_dict())
    filters = [layer.V.detach() for layer in exact.layers]  # type: ignore[operator]

    def run_plain() -> Tensor:
        parts = []
        for part in torch.split(images, 1024):
            with torch.no_grad():
                parts.append(plain_networks.conv_network(part.double(), filters, exact.config.layers))
        Phi = torch.cat(parts)
        centred = Phi - Phi.mean(1, keepdim=True)
        Phi = centred / centred.norm(dim=1).mean()
        found = y[:LABELED][torch.cdist(Phi, Phi[:LABELED]).argmin(1)]
        Y = one_hot(found, n_classes=K)
        return torch.stack([(Phi @ W + b).argmax(1) for W, b in (plain.ridge(Phi, Y, lam) for lam in LAMBDAS)])

    def run_fast() -> Tensor:
        Phi = normalize_features(fast.features(images))[0]
        found = nearest_labels(Phi, Phi[:LABELED], y[:LABELED])
        W, b = decompose(Phi).ridge(one_hot(found, n_classes=K), LAMBDAS)
        W, b = W.to(Phi.dtype), b.to(Phi.dtype)
        return torch.stack([(Phi @ W[i] + b[i]).argmax(1) for i in range(len(LAMBDAS))])

    quick = best_seconds(run_fast, repeats=2)
    slow = best_seconds(run_plain, repeats=1)
    differ = float((run_fast()[-21:] != run_plain()[-21:]).double().mean())
    return f"evaluation pass over {len(images):,} images", slow, quick, differ


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="directory that holds mnist.npz (default: XSDC_DATA)")
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    parser.add_argument("--images", type=int, default=70_000, help="images of the evaluation pass")
    options = parser.parse_args()

    mnist = find_mnist(options.data)
    if mnist is None:
        images, y = drawn_images(options.images), torch.arange(options.images) % K
    else:
        images = standardised(np.concatenate([mnist["x_train"], mnist["x_test"]]))[: options.images]
        y = torch.from_numpy(np.concatenate([mnist["y_train"], mnist["y_test"]]).astype(np.int64))
    batch = LABELED + UNLABELED
    rows: Rows = [step_times(images[:batch], y[:batch]), evaluation_times(images, y)]
    table = markdown_table(
        ["what", "plain, float64", "xsdc, float32", "times faster", "difference"],
        [[n, milliseconds(a), milliseconds(b), f"{a / b:.1f}", f"{d:.1e}"] for n, a, b, d in rows],
    )
    print("real MNIST" if mnist is not None else "drawn strokes")
    print(table)
    if mnist is not None or options.docs != DOCS:  # the page of the project shows real data
        write_between_markers(options.docs, table)
    if options.json:
        names = ("name", "plain_seconds", "fast_seconds", "difference")
        write_json(options.json, {"results": [dict(zip(names, row, strict=True)) for row in rows]})


if __name__ == "__main__":
    main()
