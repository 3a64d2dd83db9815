from __future__ import annotations

import pytest
import torch
from torch import nn

from xsdc.defaults import DEFAULTS
from xsdc.errors import InvalidInputError
from xsdc.networks import (
    LayerConfig,
    NetworkConfig,
    PenalisedStep,
    SphereStep,
    adaptive_steps,
    build_network,
    group_parameters,
    make_steps,
)

F64 = torch.float64


def with_grad(values: list[list[float]], grad: list[list[float]]) -> nn.Parameter:
    p = nn.Parameter(torch.tensor(values, dtype=F64))
    p.grad = torch.tensor(grad, dtype=F64)
    return p


def test_sphere_step_by_hand():
    # (1, 0) with gradient (0, 5) and step 1 goes to (1, -1)/sqrt(2); no gradient, no move.
    p = with_grad([[1.0, 0.0], [0.0, 1.0]], [[0.0, 5.0], [0.0, 0.0]])
    SphereStep([p], lr=1.0).step()
    expected = torch.tensor([[0.5**0.5, -(0.5**0.5)], [0.0, 1.0]], dtype=F64)
    torch.testing.assert_close(p.data, expected, rtol=1e-14, atol=0)


def test_sphere_step_follows_the_formula_for_any_shape(generator):
    V = torch.nn.functional.normalize(torch.randn(5, 12, generator=generator, dtype=F64), dim=1)
    g = torch.randn(5, 12, generator=generator, dtype=F64)
    p = nn.Parameter(V.clone().view(5, 3, 2, 2))
    p.grad = g.view(5, 3, 2, 2)
    SphereStep([p], lr=0.3).step()
    moved = V - 0.3 * g / g.norm(dim=1, keepdim=True)
    torch.testing.assert_close(p.data.flatten(1), moved / moved.norm(dim=1, keepdim=True), rtol=1e-13, atol=1e-14)


def test_sphere_step_to_the_centre_stays():
    p = with_grad([[1.0, 0.0]], [[2.0, 0.0]])
    SphereStep([p], lr=1.0).step()
    assert p.tolist() == [[1.0, 0.0]]


def test_penalised_step_by_hand():
    p = with_grad([[1.0, 2.0]], [[10.0, 0.0]])
    PenalisedStep([p], lr=0.1, zeta=0.5).step()  # V - 0.1 (g + V)
    torch.testing.assert_close(p.data, torch.tensor([[-0.1, 1.8]], dtype=F64), rtol=1e-14, atol=1e-16)


def test_penalised_step_is_a_step_on_the_penalised_objective(generator):
    p = nn.Parameter(torch.randn(3, 2, generator=generator, dtype=F64))
    q = nn.Parameter(p.detach().clone())
    p.sin().sum().backward()
    (q.sin().sum() + 0.7 * q.square().sum()).backward()
    PenalisedStep([p], lr=0.2, zeta=0.7).step()
    torch.optim.SGD([q], lr=0.2).step()
    torch.testing.assert_close(p, q, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("rule", [SphereStep, PenalisedStep])
def test_state_saves_and_loads(rule):
    p = with_grad([[1.0, 0.0]], [[0.0, 1.0]])
    saved = rule([p], lr=0.25).state_dict()
    other = rule([with_grad([[1.0, 0.0]], [[0.0, 1.0]])], lr=9.0)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.25


def test_steps_take_closures_and_schedulers():
    p = nn.Parameter(torch.tensor([[1.0, 0.0]], dtype=F64))
    rule = SphereStep([p], lr=0.5)

    def closure() -> float:
        rule.zero_grad()
        loss = p[0, 1] * 3
        loss.backward()
        return float(loss.detach())

    scheduler = torch.optim.lr_scheduler.ExponentialLR(rule, 0.5)
    assert rule.step(closure) == 0.0
    assert float(p.detach()[0, 1]) < 0
    scheduler.step()
    assert rule.param_groups[0]["lr"] == 0.25


def test_parameters_without_gradient_are_left():
    p = nn.Parameter(torch.ones(2, 2))
    SphereStep([p], lr=1.0).step()
    assert torch.equal(p, torch.ones(2, 2))


@pytest.mark.parametrize(("lr", "zeta", "message"), [(-1.0, 0.0, "lr"), (1.0, -1.0, "zeta")])
def test_bad_numbers(lr, zeta, message):
    with pytest.raises(InvalidInputError, match=message):
        PenalisedStep([nn.Parameter(torch.ones(1))], lr=lr, zeta=zeta)


def test_sphere_step_needs_filters():
    with pytest.raises(InvalidInputError, match="one per entry of the first axis"):
        SphereStep([nn.Parameter(torch.ones(3))], lr=0.1)


def test_groups_by_rule(generator):
    config = NetworkConfig(
        (
            LayerConfig(4, patch=3, kernel="linear"),
            LayerConfig(4, patch=1, kernel="sphere", init="identity", trained=False),
            LayerConfig(5, patch=3, kernel="relu"),
            LayerConfig(6, kernel="sphere"),
            LayerConfig(7, kernel="rbf"),
        )
    )
    network = build_network(config, torch.rand(30, 8, 8), generator=generator)
    groups = group_parameters(network)
    assert [tuple(p.shape) for p in groups.sphere] == [(4, 1, 3, 3), (6, 80)]
    assert [tuple(p.shape) for p in groups.penalised] == [(7, 6)]
    assert [tuple(p.shape) for p in groups.other] == [(5, 4, 3, 3), (5,)]


def test_training_with_the_rules_lowers_a_loss_and_keeps_the_sphere(generator):
    X = torch.rand(60, 8, 8, generator=generator)
    config = NetworkConfig((LayerConfig(6, patch=3, pooling="average"), LayerConfig(4, patch=3)))
    network = build_network(config, X, generator=generator)
    batch, target = network.prepare(X), torch.randn(60, network.n_features, generator=generator)
    steps = make_steps(network, lr=0.02)
    losses = []
    for _ in range(15):
        loss = (network(batch) - target).square().mean()
        losses.append(float(loss.detach()))
        for step in steps:
            step.zero_grad()
        loss.backward()
        for step in steps:
            step.step()
    assert losses[-1] < losses[0]
    for p in group_parameters(network).sphere:
        torch.testing.assert_close(p.detach().flatten(1).norm(dim=1), torch.ones(len(p)))


@pytest.mark.parametrize("make", [lambda network: make_steps(network, lr=0.1), adaptive_steps])
def test_a_fixed_network_gets_no_optimizer(make, generator):
    assert make(build_network(torch.sin, torch.rand(9, 4), generator=generator)) == []


def test_adaptive_steps_by_the_kind_of_parameters(generator):
    X = torch.rand(30, 4)
    (adam,) = adaptive_steps(build_network(nn.Linear(4, 3), X, generator=generator))
    assert isinstance(adam, torch.optim.Adam)
    assert adam.param_groups[0]["lr"] == DEFAULTS.weight_rate
    kernel = build_network("kn", X, generator=generator)
    (adam,) = adaptive_steps(kernel, zeta=0.5)
    (V,) = kernel.parameters()
    spread = float((V - V.mean(0)).detach().square().mean().sqrt())
    assert adam.param_groups[0]["lr"] == pytest.approx(DEFAULTS.filter_rate * spread)
    assert adam.param_groups[0]["weight_decay"] == 1.0
    images = build_network("lenet5-ckn", torch.rand(5, 28, 28), generator=generator)
    (sphere,) = adaptive_steps(images)
    assert isinstance(sphere, SphereStep)
    assert sphere.param_groups[0]["lr"] == DEFAULTS.sphere_rate
