"""How fast the networks are against the direct transcription, and how good before any training.

    python -m benchmarks.networks [--data DIR] [--json PATH] [--docs PATH] [--threads N]

Prints the figures, writes the table of docs/networks.md, and with ``--json`` a file of numbers. Real MNIST
(mnist.npz) is looked for in ``--data`` or in the directory named by XSDC_DATA; what needs it is skipped
without it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import plain_networks as plain
from benchmarks.measure import best_seconds, markdown_table, write_between_markers, write_json
from xsdc.core.objective import decompose, one_hot
from xsdc.core.rounding import nearest_labels
from xsdc.networks import NETWORKS, LayeredNetwork, NetworkConfig, build_network, group_parameters

DOCS = Path(__file__).parents[1] / "docs" / "networks.md"
N_BATCH, N_MANY = 1024, 10_000
N_TRAIN, N_SEEDS = 50_000, 3
Rows = list[tuple[str, str, str]]


def build(
    config: NetworkConfig | str, X: object, *, seed: int = 0, dtype: torch.dtype = torch.float32
) -> LayeredNetwork:
    """Build a network of layers from a seed."""
    network = build_network(config, X, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    if not isinstance(network, LayeredNetwork):
        raise TypeError("a network of layers was asked for")
    return network


def standardised(images: np.ndarray[Any, Any]) -> Tensor:
    """MNIST as the paper takes it: (x/255 - 0.1307)/0.3081, one channel first."""
    return (torch.from_numpy(images).float().div_(255).sub_(0.1307).div_(0.3081)).unsqueeze(1)


def drawn_images(n: int, *, size: int = 28, channels: int = 1) -> Tensor:
    """Smooth random strokes with the shape of MNIST, where MNIST is not at hand."""
    g = torch.Generator().manual_seed(0)
    strokes = (torch.rand(n, channels, 7, 7, generator=g) > 0.7).float()
    return torch.nn.functional.interpolate(strokes, size=(size, size), mode="bilinear").sub_(0.13).div_(0.31)


def compare(batch: Tensor) -> tuple[dict[str, float], Rows]:
    """Time lenet5-ckn in float32 against the transcription in float64 on the same batch."""
    exact = build("lenet5-ckn", batch.double(), dtype=torch.float64)
    fast = build("lenet5-ckn", batch)
    fast.load_state_dict(exact.state_dict())
    filters = [layer.V.detach().clone() for layer in exact.layers]  # type: ignore[operator]
    layers = exact.config.layers
    trained = [V for V, layer in zip(filters, layers, strict=True) if layer.trained]
    direction = torch.randn(len(batch), 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def plain_forward() -> Tensor:
        with torch.no_grad():
            return plain.conv_network(batch.double(), filters, layers)

    def plain_both() -> tuple[Tensor, ...]:
        Phi = plain.conv_network(batch.double(), filters, layers)
        return torch.autograd.grad((Phi * direction).sum(), trained)

    def fast_forward() -> Tensor:
        return fast.features(batch)

    def fast_both() -> tuple[Tensor, ...]:
        return torch.autograd.grad((fast(batch) * direction.float()).sum(), group_parameters(fast).sphere)

    seconds = {
        "fast_forward": best_seconds(fast_forward, repeats=15),
        "fast_both": best_seconds(fast_both, repeats=15),
        "plain_forward": best_seconds(plain_forward, repeats=2),
    }
    difference = _relative(fast_forward(), plain_forward())
    for V in trained:
        V.requires_grad_()
    seconds["plain_both"] = best_seconds(plain_both, repeats=2)
    gradient = max(_relative(a, b) for a, b in zip(fast_both(), plain_both(), strict=True))
    forward = seconds["plain_forward"] / seconds["fast_forward"]
    both = seconds["plain_both"] / seconds["fast_both"]
    rows = [
        ("forward", _ms(seconds["plain_forward"], seconds["fast_forward"]), f"{forward:.0f}×"),
        ("forward + backward", _ms(seconds["plain_both"], seconds["fast_both"]), f"{both:.0f}×"),
        ("features, float32 against float64", "relative difference", f"{difference:.1e}"),
        ("gradients, float32 against float64", "largest relative difference of a layer", f"{gradient:.1e}"),
    ]
    figures = {**seconds, "forward_ratio": forward, "both_ratio": both}
    return {**figures, "feature_difference": difference, "gradient_difference": gradient}, rows


def _relative(ours: Tensor, theirs: Tensor) -> float:
    return float((ours.double() - theirs).norm() / theirs.norm())


def _ms(plain_seconds: float, fast_seconds: float) -> str:
    return f"{1e3 * plain_seconds:,.0f} ms plain, {1e3 * fast_seconds:,.0f} ms here"


def rates(many: Tensor) -> tuple[dict[str, float], Rows]:
    """Images per second, forward, for every named network on images."""
    inputs = {"lenet5-ckn": many, "cnn": many, "ckn-gm": drawn_images(2000, size=32, channels=3)}
    figures, rows = {}, []
    for name, images in inputs.items():
        network = build(name, images)
        per_second = len(images) / best_seconds(lambda n=network, x=images: n.features(x), repeats=3)  # type: ignore[misc]
        figures[name] = per_second
        C, H, W = images.shape[1:]
        rows.append((f"{name}, forward", f"{len(images):,} images of {H}×{W}×{C}", f"{per_second:,.0f} images/s"))
    return figures, rows


def where_the_time_goes(batch: Tensor) -> tuple[dict[str, list[float]], Rows]:
    """Time each layer of lenet5-ckn, forward and backward, part by part as the network runs them."""
    network = build("lenet5-ckn", batch)
    with torch.no_grad():
        shares: dict[str, list[float]] = {"weights": [best_seconds(network.weights, repeats=10), 0.0]}
        weights = network.weights()
    parts = [network.enter(part) for part in torch.split(batch, network.part_size)]
    for number, (layer, weight) in enumerate(zip(network.layers, weights, strict=True), start=1):
        respond: Callable[..., Tensor] = layer.respond  # type: ignore[assignment]
        if weight.filters is not None:
            weight = replace(weight, filters=weight.filters.detach().requires_grad_())  # noqa: PLW2901

        def forward(
            xs: Sequence[Tensor] = parts, f: Callable[..., Tensor] = respond, w: object = weight
        ) -> list[Tensor]:
            with torch.no_grad():
                return [f(x, w) for x in xs]

        def both(
            xs: Sequence[Tensor] = parts,
            f: Callable[..., Tensor] = respond,
            w: object = weight,
            first: bool = number == 1,
        ) -> None:
            for x in xs:
                y = f(x.detach().requires_grad_(not first), w)
                torch.autograd.backward(y, torch.ones_like(y))

        seconds = best_seconds(forward, repeats=10)
        shares[f"layer {number}"] = [seconds, max(0.0, best_seconds(both, repeats=10) - seconds)]
        parts = forward()
    totals = [sum(pair[i] for pair in shares.values()) for i in (0, 1)]
    rows = [
        (f"lenet5-ckn, {name}", "share of forward, of backward", f"{f / totals[0]:.0%}, {b / totals[1]:.0%}")
        for name, (f, b) in shares.items()
    ]
    return shares, rows


def accuracy(config: NetworkConfig, mnist: dict[str, Any], *, seed: int) -> dict[str, float]:
    """Test accuracy on untrained features: ridge classifier, lambda by the validation part; nearest neighbour."""
    images, test = standardised(mnist["x_train"]), standardised(mnist["x_test"])
    labels, truth = (torch.from_numpy(mnist[key].astype(np.int64)) for key in ("y_train", "y_test"))
    network = build(config, images[:N_TRAIN], seed=seed)
    Phi, held_out, Phi_test = (network.features(x).double() for x in (images[:N_TRAIN], images[N_TRAIN:], test))
    W, b = decompose(Phi).ridge(one_hot(labels[:N_TRAIN]).double(), [2.0**i for i in range(-40, 1)])
    scores = (held_out @ W + b[:, None]).argmax(2) == labels[N_TRAIN:]  # (L, n)
    best = int(scores.double().mean(1).argmax())
    ridge = (Phi_test @ W[best] + b[best]).argmax(1) == truth
    nearest = nearest_labels(Phi_test.float(), Phi.float(), labels[:N_TRAIN]) == truth
    return {"ridge": float(ridge.double().mean()), "nearest": float(nearest.double().mean())}


def accuracies(mnist: dict[str, Any]) -> tuple[dict[str, list[dict[str, float]]], Rows]:
    """Accuracy on untrained features of MNIST: the paper's network, and what its 32 features cost."""
    lenet = NETWORKS["lenet5-ckn"]
    layers = lenet.layers
    clustered = tuple(replace(x, init="spherical-kmeans") if x.trained else x for x in layers)
    wide = layers[:4] + tuple(replace(x, width=64) for x in layers[4:])
    variants = {
        "lenet5-ckn": (lenet, N_SEEDS),
        "lenet5-ckn, filters from spherical k-means": (replace(lenet, layers=clustered), N_SEEDS),
        "lenet5-ckn, last two layers 64 wide": (replace(lenet, layers=wide), N_SEEDS),
        "lenet5-ckn, its first four layers": (replace(lenet, layers=layers[:4]), 1),
    }
    figures, rows = {}, []
    for name, (config, n_seeds) in variants.items():
        values = [accuracy(config, mnist, seed=seed) for seed in range(n_seeds)]
        figures[name] = values
        n_features = LayeredNetwork(config, input_shape=(1, 28, 28)).n_features
        ridge, nearest = (float(np.mean([v[kind] for v in values])) for kind in ("ridge", "nearest"))
        how = f"MNIST, untrained, {n_features} features, {n_seeds} seed(s)"
        rows.append((name, how, f"ridge {ridge:.1%}, nearest neighbour {nearest:.1%}"))
    return figures, rows


def find_mnist(directory: str | None) -> dict[str, Any] | None:
    """Read mnist.npz from the directory given, or from XSDC_DATA; None where it is not."""
    where = directory or os.environ.get("XSDC_DATA")
    if where is None or not (Path(where) / "mnist.npz").is_file():
        return None
    with np.load(Path(where) / "mnist.npz") as file:
        return {key: file[key] for key in ("x_train", "y_train", "x_test", "y_test")}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="directory that holds mnist.npz (default: XSDC_DATA)")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--docs", type=Path, default=DOCS, help="page whose table is written")
    parser.add_argument("--threads", type=int, help="threads for both sides (default: what torch takes)")
    options = parser.parse_args()
    if options.threads is not None:
        torch.set_num_threads(options.threads)

    mnist = find_mnist(options.data)
    many = drawn_images(N_MANY) if mnist is None else standardised(mnist["x_train"][:N_MANY])
    batch = many[:N_BATCH]
    figures: dict[str, Any] = {"threads": torch.get_num_threads(), "torch": torch.__version__}
    rows: Rows = []
    source = "real MNIST" if mnist is not None else "drawn strokes"
    heading = f"{N_BATCH:,} images ({source}), {figures['threads']} thread(s), torch {figures['torch']}:"
    print(heading)
    sections: list[tuple[str, Callable[[], tuple[dict[str, Any], Rows]]]] = [
        ("against_plain", lambda: compare(batch)),
        ("images_per_second", lambda: rates(many)),
        ("layers", lambda: where_the_time_goes(batch)),
    ]
    if mnist is None:
        print("mnist.npz is not in --data or XSDC_DATA: strokes drawn at random are timed, accuracy is skipped.")
    else:
        sections.append(("accuracy", lambda: accuracies(mnist)))
    for name, section in sections:
        figures[name], new = section()
        rows += new
        for what, how, value in new:
            print(f"  {what:45} {how:42} {value}")
    table = markdown_table(["what", "how", "figure"], rows)
    if mnist is not None or options.docs != DOCS:  # the page of the project shows real data
        write_between_markers(options.docs, f"{heading}\n\n{table}")
    if options.json:
        write_json(options.json, figures)


if __name__ == "__main__":
    main()
