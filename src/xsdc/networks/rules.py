"""How filters take a gradient step: on the unit sphere, or free with a penalty; one small optimizer each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from xsdc.defaults import DEFAULTS
from xsdc.errors import DivergedError, InvalidInputError
from xsdc.networks.layered import LayeredNetwork
from xsdc.networks.network import Network
from xsdc.networks.nystrom import ConvNystromLayer, NystromLayer
from xsdc.validation import as_positive

SCALE_FREE = 1e-15  # added to the size of gradients, which are small where the units of the data are large


class _GradientRule(Optimizer, ABC):
    """An optimizer whose step changes one parameter at a time by a formula of its gradient."""

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Change every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if not bool(p.grad.isfinite().all()):
                        raise DivergedError("A gradient is not finite. Lower the learning rate, or check the data.")
                    self._update(p, p.grad, group)
        return loss

    @abstractmethod
    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """Change one parameter."""


class SphereStep(_GradientRule):
    """Descend with filters on the unit sphere: v <- (v - lr g/||g||) / ||v - lr g/||g||| for each filter.

    A filter is one entry along the first axis, flattened. Its gradient g is divided by its own norm, so ``lr``
    is how far a filter moves; a filter without gradient stays.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        Filters (m, ...), of unit norm each.
    lr : float
        Length of the step.
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]], *, lr: float) -> None:
        super().__init__(params, {"lr": as_positive(lr, name="lr", allow_zero=True)})
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim < 2:
                raise InvalidInputError(
                    "SphereStep takes filters (m, ...), one per entry of the first axis; one has shape"
                    f" {tuple(p.shape)}. Give such parameters to another optimizer."
                )

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        g = grad.flatten(1)
        size = g.norm(dim=1, keepdim=True)
        direction = torch.where(size > 0, g / size, 0.0)
        moved = p.flatten(1) - group["lr"] * direction
        length = moved.norm(dim=1, keepdim=True)
        # A step to the very centre has no direction to return in; such a filter stays.
        moved = torch.where(length > 0, moved / length, p.flatten(1))
        p.copy_(moved.view(p.shape))


class PenalisedStep(_GradientRule):
    """Descend with free filters and the penalty zeta ||V||²: V <- V - lr (g + 2 zeta V).

    Parameters
    ----------
    params : iterable of Tensor or of dict
        Filters.
    lr : float
        Learning rate.
    zeta : float, default 0
        Weight of the penalty.
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]], *, lr: float, zeta: float = 0.0) -> None:
        defaults = {
            "lr": as_positive(lr, name="lr", allow_zero=True),
            "zeta": as_positive(zeta, name="zeta", allow_zero=True),
        }
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        p.sub_(grad + 2 * group["zeta"] * p, alpha=group["lr"])


@dataclass(frozen=True)
class ParameterGroups:
    """A network's trained parameters, by the rule that fits them.

    Attributes
    ----------
    sphere : list of Parameter
        Filters of unit norm: all convolutional Nyström layers, and sphere kernels on vectors.
    penalised : list of Parameter
        Free filters: linear and Gaussian kernels on vectors.
    other : list of Parameter
        Everything else: plain layers and the user's modules, for any torch optimizer.
    """

    sphere: list[nn.Parameter]
    penalised: list[nn.Parameter]
    other: list[nn.Parameter]


def group_parameters(network: Network) -> ParameterGroups:
    """Sort a network's trained parameters by the rule that fits them."""
    groups = ParameterGroups([], [], [])
    layers = list(network.layers) if isinstance(network, LayeredNetwork) else []
    seen: set[int] = set()
    for layer in layers:
        if isinstance(layer, NystromLayer | ConvNystromLayer) and isinstance(layer.V, nn.Parameter):
            on_sphere = isinstance(layer, ConvNystromLayer) or layer.kernel.on_sphere
            (groups.sphere if on_sphere else groups.penalised).append(layer.V)
            seen.add(id(layer.V))
    groups.other.extend(p for p in network.parameters() if p.requires_grad and id(p) not in seen)
    return groups


def make_steps(
    network: Network,
    *,
    lr: float,
    zeta: float = 0.0,
) -> list[Optimizer]:
    """Make the optimizers of the paper for a network: one for each kind of parameter it has.

    Parameters
    ----------
    network : Network
        The network; a fixed one gets no optimizer.
    lr : float
        Length of step on the sphere, learning rate elsewhere.
    zeta : float, default 0
        Penalty on free filters.
    """
    groups = group_parameters(network)
    steps: list[Optimizer] = []
    if groups.sphere:
        steps.append(SphereStep(groups.sphere, lr=lr))
    if groups.penalised:
        steps.append(PenalisedStep(groups.penalised, lr=lr, zeta=zeta))
    if groups.other:
        steps.append(PenalisedStep(groups.other, lr=lr, zeta=zeta))
    return steps


def adaptive_steps(network: Network, *, zeta: float = 0.0) -> list[Optimizer]:
    """Make optimizers whose steps do not depend on the scale of the gradient, nor on the units of the data.

    Filters on the sphere take steps of one length. Everything else takes those of Adam (Kingma and Ba, 2015), filters
    in the space of the data relative to their spread.

    Parameters
    ----------
    network : Network
        The network; a fixed one gets no optimizer.
    zeta : float, default 0
        Penalty on what is not on the sphere.
    """
    groups = group_parameters(network)
    steps: list[Optimizer] = [SphereStep(groups.sphere, lr=DEFAULTS.sphere_rate)] if groups.sphere else []
    free = [
        {"params": [V], "lr": DEFAULTS.filter_rate * _spread(V.detach()), "eps": SCALE_FREE} for V in groups.penalised
    ]
    weights = [{"params": groups.other, "lr": DEFAULTS.weight_rate}] if groups.other else []
    if free or weights:
        steps.append(torch.optim.Adam([*free, *weights], weight_decay=2 * zeta))
    return steps


def _spread(V: Tensor) -> float:
    """Root mean square distance of filters (m, d) from their mean, per coordinate; of one filter its own size."""
    return float((V - V.mean(0) if len(V) > 1 else V).square().mean().sqrt())
