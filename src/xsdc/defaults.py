"""Every constant by which a fit chooses for the user, with its reason and the data it was settled on.

Tolerances, sizes of blocks and numbers of points that bound memory or time stand where they are used: they change how
an answer is computed, not which one. "Suite" is the half `settle` of the data sets of docs/suite.md, "digits" those of
scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]


@dataclass(frozen=True)
class Defaults:
    """Constants of the choices that a user leaves open, in the order in which a fit comes to them.

    Attributes
    ----------
    near_share, far : float
        A row is an outlier if it is `far` times as far from the median as `near_share` of the rows. Suite: no row is in
        13 of 16 data sets, and less than one in a hundred in the others. With a smaller share, one large class would
        make outliers of the others.
    narrowest, widest : int
        Filters of a kernel network on vectors, as many as labels in between. Digits.
    enough_to_hold_out, held_out : int, float
        Labels from which on a share is held out of training. Digits.
    fewest_to_train : int
        Points, below which nothing is trained. Reckoned: there is nothing to learn from a handful.
    dimensions_per_class : float
        Effective dimension of ridge regressions, per class: a class needs one, and is rarely told by ten. Digits and
        suite.
    training_range : pair of float
        Bounds on classes in training, in units of the equal share. Digits, whole and thinned.
    sphere_steps, steps : int
        Steps of filters on the sphere, and of free filters. Digits.
    least_steps, epochs : int, float
        Steps of other networks at least; times that each point is seen otherwise. The first that were tried on usps and
        orl of the suite; not compared with others.
    most_read : float
        Numbers that such a network reads at most in a fit, which bounds its time: of 60,000 images of 28×28 each is
        seen ten times. Reckoned, not settled.
    best_effort : float
        Factor of steps, and of what may be read, for ``effort="best"``.
    batch, small_batch : int
        Points of a step of kernel filters, and of other networks: usual values.
    sphere_rate, filter_rate, weight_rate : float
        Lengths of adaptive steps: of filters on the sphere; of free filters, as a share of their spread; of other
        weights. The first: digits. The second: the better of two on ten data sets of the suite, one split, hardly
        different. The third: the best of three on usps with five labels of each class, within half a point.
    columns : int
        Principal components of vectors that graphs and classifiers see. Suite.
    image_columns, flattening : int, float
        The same of images, each divided by its variance to this power, half-way to equal variances; neighbors then
        agree in more than what varies most. usps and orl of the suite; vectors do not gain in the mean.
    neighbors, decay : int, float
        Neighbors that graphs join, the farthest with weight ``exp(-decay)``: usual values, not settled.
    walk, longest_leak : float
        Walks on graphs are as long as this share of a class has points, but ``1 / longest_leak`` steps at least. Suite:
        1/5 to 1/40 and ten steps for all do much the same; the more points there are, the longer they must be.
    starts, eigenvectors : int, tuple of float
        Starts of k-means on each number of eigenvectors, per class: classes that are easy to tell may have several,
        others then come later. Suite.
    first_range, groups_range, wider_range : pair of float
        Sizes of groups, in units of the equal share. Groups of much the same size are found first, and may then differ
        more: sizes alone tell that a class which is near another one is a class. Wider bounds for all data are behind
        by a point or two, but where groups are clear and uneven the narrow ones cut them apart. Suite.
    clearly : float
        Share of what narrow bounds leave unexplained beyond chance that wider ones may leave at most. Suite.
    labeled_range : pair of float
        Sizes of classes that all have labels, which then tell more than sizes. Suite.
    leak, fidelity : float
        Labels reach about ``1 / leak`` steps on a graph; interpolations keep to labels `fidelity` times as closely as
        to neighbors. Suite.
    folds : int
        Parts of the labels that are left out in turn: the usual number.
    least_probability : float
        That a member of the ensemble gives a class: one that is sure and wrong must not decide alone. Suite.
    prior, deviation : float
        Weight of a member before any label is left out, and deviation of its logarithm. Suite, of some 70 variants of
        members, weights and bounds that differ by a point.
    suspicious_ratio : float
        A label is suspicious if another class is so many times as probable: where one label in twenty is wrong, it is
        then more probably wrong than right.
    samples, sample_share, least_rate, clear : int, float, float, float
        Samples of the points that vote on the number of groups, their share of the points, what is added to rates of
        graphs, and the share of votes below which a number is called a guess. Suite and the blobs of
        ``benchmarks/number.py``, of some sixty variants that differ little.
    """

    near_share: float = 0.9
    far: float = 3.0
    narrowest: int = 100
    widest: int = 512
    enough_to_hold_out: int = 500
    held_out: float = 0.2
    fewest_to_train: int = 10
    dimensions_per_class: float = 5.0
    training_range: Range = (0.5, 2.0)
    sphere_steps: int = 200
    steps: int = 50
    least_steps: int = 150
    epochs: float = 20
    most_read: float = 4.7e8
    best_effort: float = 3
    batch: int = 1024
    small_batch: int = 256
    sphere_rate: float = 2.0**-6
    filter_rate: float = 0.1
    weight_rate: float = 4e-3
    columns: int = 50
    image_columns: int = 75
    flattening: float = 0.25
    neighbors: int = 10
    decay: float = 4.0
    walk: float = 1 / 20
    longest_leak: float = 0.1
    starts: int = 4
    eigenvectors: tuple[float, ...] = (1.0, 1.5, 2.0)
    first_range: Range = (1 / 1.1, 1.1)
    groups_range: Range = (1 / 1.6, 1.6)
    wider_range: Range = (1 / 5, 5.0)
    clearly: float = 0.8
    labeled_range: Range = (1 / 3, 3.0)
    leak: float = 0.03
    fidelity: float = 2.0
    folds: int = 5
    least_probability: float = 1e-2
    prior: float = 0.2
    deviation: float = 0.5
    suspicious_ratio: float = 20.0
    samples: int = 10
    sample_share: float = 0.8
    least_rate: float = 5e-3
    clear: float = 0.8


DEFAULTS = Defaults()
