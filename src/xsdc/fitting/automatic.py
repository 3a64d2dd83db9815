"""Choosing what the user left open, from what the user gave: the network's width, the plan, ridges and sizes."""

from __future__ import annotations

import numpy as np

from xsdc.core.sizes import ClassSizes
from xsdc.defaults import DEFAULTS
from xsdc.fitting.bounds import Bounds
from xsdc.fitting.choices import Choices
from xsdc.fitting.knowledge import Knowledge
from xsdc.fitting.settings import Settings
from xsdc.networks import Network, group_parameters
from xsdc.networks.build import NetworkSpec
from xsdc.training import Plan

PUBLISHED_WIDTH = 32  # filters of the paper's networks
PUBLISHED_STEPS, PUBLISHED_SUPERVISED = 500, 100  # of the paper (Section 5): all, and those on labels


def choose_network(
    spec: NetworkSpec, shape: tuple[int, ...], knowledge: Knowledge, choices: Choices, *, algorithm: str = "ensemble"
) -> NetworkSpec:
    """Choose the width of a kernel network for vectors; leave any other choice to the networks' own table."""
    if not (isinstance(spec, str) and spec == "auto"):
        return spec
    if algorithm == "published":
        return _published_network(shape, choices)
    if len(shape) != 2:
        return spec
    labeled = int((knowledge.codes >= 0).sum())
    width = int(min(np.clip(labeled, DEFAULTS.narrowest, DEFAULTS.widest), shape[0]))
    choices.note(
        "network",
        f"kn with {width} filters",
        f"vectors; as many filters as labels ({labeled}), but at least {DEFAULTS.narrowest}, at most"
        f" {DEFAULTS.widest} and no more than points",
    )
    return {"name": "kn", "input": "vectors", "layers": [{"width": width, "kernel": "rbf"}]}


def _published_network(shape: tuple[int, ...], choices: Choices) -> NetworkSpec:
    """Choose the network that the paper has for data of a shape; gray images of 28×28 have LeNet-5's by themselves."""
    if len(shape) == 2:
        width = min(PUBLISHED_WIDTH, shape[0])
        choices.note("network", f"kn with {width} filters", "vectors; as many filters as in the paper")
        return {"name": "kn", "input": "vectors", "layers": [{"width": width, "kernel": "rbf"}]}
    if sorted(shape[1:]) == [3, 32, 32]:
        choices.note("network", "ckn-gm", "color images of 32×32, as in the paper")
        return "ckn-gm"
    return "auto"


def choose_plan(settings: Settings, network: Network, knowledge: Knowledge, choices: Choices) -> Plan:
    """Choose steps and lengths of step by the kind of parameters and whether there are labels."""
    labeled = int((knowledge.constraints.classes >= 0).sum())
    on_sphere = bool(group_parameters(network).sphere) if network.trainable else False
    kind = "filters on the sphere" if on_sphere else "free parameters"
    supervised = _supervised_steps(settings, network, knowledge, labeled=labeled, on_sphere=on_sphere, choices=choices)
    joint = settings.max_iter
    untrained = _why_pointless(network, knowledge)
    if joint == "auto" and not settings.trains:
        untrained = untrained or _why_spared(settings)
    if untrained and joint in ("auto", 0) and settings.supervised_iter in ("auto", 0):
        choices.note("max_iter", 0, untrained)
        joint = supervised = 0
    elif joint == "auto" and settings.algorithm == "published":
        joint = PUBLISHED_STEPS - supervised if supervised < PUBLISHED_STEPS else 0
        choices.note("max_iter", joint, f"the paper's {PUBLISHED_STEPS} steps, with those on labeled points")
    elif joint == "auto":
        joint = DEFAULTS.sphere_steps if on_sphere else (DEFAULTS.labeled_steps if labeled else DEFAULTS.steps)
        choices.note("max_iter", joint, f"{kind}, {'some' if labeled else 'no'} labels")
    rates = {}
    moved = DEFAULTS.labeled_rate if labeled else DEFAULTS.rate
    for name, first in (("learning_rate", moved), ("supervised_learning_rate", DEFAULTS.labeled_rate)):
        rate = getattr(settings, name)
        if rate == "auto":
            rate = DEFAULTS.sphere_rate if on_sphere else first
            meaning = (
                "length of each filter's step" if on_sphere else "share of their spread that the first step moves them"
            )
            if joint if name == "learning_rate" else supervised:
                choices.note(name, rate, f"{kind}: {meaning}")
        rates[name] = rate
    return Plan(
        supervised_iter=supervised,
        max_iter=int(joint),
        supervised_relative=settings.supervised_learning_rate == "auto",
        relative=settings.learning_rate == "auto",
        filter_penalty=settings.filter_penalty,
        evaluate_every=settings.evaluate_every,
        patience=settings.patience,
        **rates,
    )


def _why_pointless(network: Network, knowledge: Knowledge) -> str | None:
    if not network.trainable:
        return "the network has nothing to train"
    if knowledge.n_clusters == 1:
        return "one class: nothing to learn"
    fewest = max(DEFAULTS.fewest_to_train, 3 * (knowledge.n_clusters or 1))
    return f"fewer than {fewest} points, too few to train with" if knowledge.n < fewest else None


def _why_spared(settings: Settings) -> str:
    """Say why a network is not trained that could be."""
    if settings.effort == "fast":
        return "effort='fast': no training"
    return "training gains nothing in the mean of many data sets (docs/suite.md); effort='best' trains"


def _supervised_steps(
    settings: Settings, network: Network, knowledge: Knowledge, *, labeled: int, on_sphere: bool, choices: Choices
) -> int:
    if settings.supervised_iter != "auto":
        return settings.supervised_iter
    classes = knowledge.constraints.classes
    several = len(np.unique(classes[classes >= 0])) > 1  # points of one class say nothing about what tells it apart
    enough = several and labeled >= 2 * (knowledge.n_clusters or 1)
    if settings.algorithm == "published" and several:
        choices.note("supervised_iter", PUBLISHED_SUPERVISED, "as in the paper, where there are labels")
        return PUBLISHED_SUPERVISED
    if on_sphere and enough and labeled < knowledge.n:
        steps = DEFAULTS.sphere_supervised_steps
        choices.note("supervised_iter", steps, "filters on the sphere, and two labels per class or more on average")
        return steps
    if network.trainable:
        why = "the joint steps see the labels too" if enough else "fewer than two labels per class, or one class alone"
        choices.note("supervised_iter", 0, why)
    return 0


def choose_sizes(
    knowledge: Knowledge, given: ClassSizes | None, choices: Choices, *, algorithm: str = "ensemble"
) -> tuple[ClassSizes, Bounds]:
    """Bounds on sizes for training, and for groups at the end."""
    if given is not None:
        return given, Bounds(given, given=True)
    if knowledge.n_clusters is None:
        low, high = DEFAULTS.open_sizes
        choices.note("cluster_size", [low, high], "neither a number of clusters nor a bound was given")
        bound = ClassSizes(np.array([low]), np.array([high]))
        return bound, Bounds(bound, given=False)
    bounds = choose_bounds(knowledge, algorithm=algorithm)
    if algorithm == "published":
        choices.note("cluster_size", "equal", "the paper's, in training and for clusters; wider where labels say so")
        return bounds.sizes, bounds
    training = _around(knowledge, *DEFAULTS.training_range)
    choices.note(
        "cluster_size",
        [float(training.minimum.min()), float(training.maximum.max())],
        "in training: from half to twice the equal share, wider where labels say so",
    )
    return training, bounds


def choose_bounds(knowledge: Knowledge, *, algorithm: str = "ensemble") -> Bounds:
    """Bounds on the sizes of groups, where the user has given none."""
    if algorithm == "published":
        return Bounds(_around(knowledge, 1.0, 1.0), given=False)
    ranges = (DEFAULTS.first_range, DEFAULTS.groups_range, DEFAULTS.wider_range, DEFAULTS.labeled_range)
    first, sizes, wider, labeled = (_around(knowledge, *limits) for limits in ranges)
    return Bounds(sizes, given=False, first=first, wider=wider, labeled=labeled)


def _around(knowledge: Knowledge, low: float, high: float) -> ClassSizes:
    """Bound classes around the equal share, widened to hold the labels given."""
    k = knowledge.n_clusters or 1
    bound = ClassSizes.around(k, low, high)
    classes = knowledge.constraints.classes
    labeled = np.bincount(classes[classes >= 0], minlength=k) / knowledge.n
    open_share = 1 - labeled.sum()
    largest_group = np.bincount(knowledge.constraints.group).max() / knowledge.n
    maximum = np.maximum(bound.maximum, np.maximum(labeled + open_share / k, min(largest_group, 1.0)))
    minimum = np.minimum(bound.minimum, labeled + low * open_share / k)
    return ClassSizes(minimum, np.minimum(maximum, 1.0))


def training_dimension(n_clusters: int | None, n: int, n_features: int) -> float:
    """Effective dimension at which the features are trained."""
    return min(DEFAULTS.dimensions_per_class * (n_clusters or 10), n / 4, 0.94 * n_features)
