"""Choosing what the user left open, from what the user gave: the network's width, the plan, ridges and sizes."""

from __future__ import annotations

from math import prod

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
from xsdc.training.augmentation import augment_images
from xsdc.training.batches import Augment

PUBLISHED_WIDTH = 32  # filters of the paper's networks
CONTINUED = 10  # part of the steps with which a network goes on that was trained before
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
    """Choose the network that the paper has for data of a shape, or the one nearest to it."""
    if len(shape) == 2:
        width = min(PUBLISHED_WIDTH, shape[0])
        choices.note("network", f"kn with {width} filters", "vectors; as many filters as in the paper")
        return {"name": "kn", "input": "vectors", "layers": [{"width": width, "kernel": "rbf"}]}
    if sorted(shape[1:]) == [3, 32, 32]:
        choices.note("network", "ckn-gm", "color images of 32×32, as in the paper")
        return "ckn-gm"
    if [side for side in shape[1:] if side > 1] == [28, 28]:
        choices.note("network", "lenet5-ckn", "gray images of 28×28, as in the paper")
        return "lenet5-ckn"
    choices.note("network", "ckn", "images of a size that the paper does not have")
    return "ckn"


def choose_plan(settings: Settings, network: Network, knowledge: Knowledge, choices: Choices) -> Plan:
    """Choose steps and their lengths by the kind of parameters, the size of the data and the effort."""
    supervised, joint = _supervised_steps(settings, knowledge, choices), settings.max_iter
    why = _why_pointless(network, knowledge) or (_why_spared(settings, network) if joint == "auto" else None)
    if why and joint in ("auto", 0) and settings.supervised_iter in ("auto", 0):
        choices.note("max_iter", 0, why)
        supervised, joint = 0, 0
    elif joint == "auto":
        joint, why = _joint_steps(settings, network, knowledge, supervised)
        choices.note("max_iter", joint, why)
    joint = -(-int(joint) // CONTINUED) if settings.continued else int(joint)
    given = [rate for rate in (settings.learning_rate, settings.supervised_learning_rate) if rate != "auto"]
    if supervised + joint and not given:
        choices.note(
            "learning_rate", "adaptive", "lengths of step do not depend on the scale of gradients; they rise, then fall"
        )
    rates = (settings.supervised_learning_rate, settings.learning_rate)
    first, second = ((given[0] if given else None) if rate == "auto" else rate for rate in rates)
    return Plan(
        supervised_iter=supervised,
        max_iter=joint,
        supervised_learning_rate=first,
        learning_rate=second,
        filter_penalty=settings.filter_penalty,
        evaluate_every=settings.evaluate_every,
        patience=settings.patience,
    )


def choose_batch_size(settings: Settings, network: Network, choices: Choices) -> int:
    """Choose the points of a step: many for kernel filters, whose M is balanced, few for other networks."""
    if settings.batch_size != "auto":
        return settings.batch_size
    few = _has_weights(network)
    size = DEFAULTS.small_batch if few else DEFAULTS.batch
    choices.note("batch_size", size, "weights take many steps of few points" if few else "kernel filters")
    return size


def choose_augmentation(settings: Settings, network: Network, choices: Choices) -> Augment | None:
    """Change images where the user has not said whether to, but not as published, where it is not the rule."""
    if settings.augment != "auto":
        return settings.augment
    if not network.takes_images or settings.algorithm == "published":
        return None
    choices.note("augmentation", "images", "turned, narrowed, shifted and partly erased images mean the same")
    return augment_images


def _has_weights(network: Network) -> bool:
    """Whether a network has weights to train that are not filters of a kernel."""
    return network.trainable and bool(group_parameters(network).other)


def _joint_steps(settings: Settings, network: Network, knowledge: Knowledge, supervised: int) -> tuple[int, str]:
    """Choose the number of steps on all points, and say why."""
    if settings.algorithm == "published":
        steps = max(PUBLISHED_STEPS - supervised, 0)
        return steps, f"the paper's {PUBLISHED_STEPS} steps, with those on labeled points"
    if not _has_weights(network):
        sphere = bool(group_parameters(network).sphere)
        steps = DEFAULTS.sphere_steps if sphere else DEFAULTS.steps
        return steps, "filters on the sphere" if sphere else "free filters"
    size = DEFAULTS.small_batch if settings.batch_size == "auto" else settings.batch_size
    wanted = max(DEFAULTS.least_steps, DEFAULTS.epochs * knowledge.n / size)
    affordable = DEFAULTS.most_read / (size * prod(network.input_shape))
    steps = max(1, round(min(wanted, affordable) * (DEFAULTS.best_effort if settings.effort == "best" else 1)))
    return steps, f"{steps * size / knowledge.n:.1f} times each of {knowledge.n} points"


def _why_pointless(network: Network, knowledge: Knowledge) -> str | None:
    if not network.trainable:
        return "the network has nothing to train"
    if knowledge.n_clusters == 1:
        return "one class: nothing to learn"
    fewest = max(DEFAULTS.fewest_to_train, 3 * (knowledge.n_clusters or 1))
    return f"fewer than {fewest} points, too few to train with" if knowledge.n < fewest else None


def _why_spared(settings: Settings, network: Network) -> str | None:
    """Say why a network is not trained that could be; None where it is."""
    if settings.effort == "fast":
        return "effort='fast': no training"
    given = settings.network_given or network.takes_images or settings.algorithm == "published"
    if given or settings.effort == "best":
        return None
    return "training gains nothing in the mean of many data sets of vectors (docs/suite.md); effort='best' trains"


def _supervised_steps(settings: Settings, knowledge: Knowledge, choices: Choices) -> int:
    """Steps on labeled points alone: the paper's, where its algorithm is asked for; else the joint ones do."""
    if settings.supervised_iter != "auto":
        return settings.supervised_iter
    classes = knowledge.constraints.classes
    if settings.algorithm == "published" and len(np.unique(classes[classes >= 0])) > 1:
        choices.note("supervised_iter", PUBLISHED_SUPERVISED, "as in the paper, where there are labels")
        return PUBLISHED_SUPERVISED
    return 0


def choose_sizes(
    knowledge: Knowledge, given: ClassSizes | None, choices: Choices, *, algorithm: str = "ensemble"
) -> tuple[ClassSizes, Bounds]:
    """Bounds on sizes for training, and for groups at the end."""
    if given is not None:
        return given, Bounds(given, given=True)
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
