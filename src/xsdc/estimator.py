"""XSDC: clustering and classification in one estimator with scikit-learn's manners."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor
from torch.utils.data import IterableDataset

from xsdc import validation as checks
from xsdc.core.agreement import share_right
from xsdc.errors import InvalidInputError
from xsdc.fitting import (
    Choices,
    Fitted,
    Knowledge,
    Settings,
    choose_network,
    fit_model,
    read_knowledge,
    read_settings,
    scaled_features,
)
from xsdc.fitting.bounds import check_sizes
from xsdc.fitting.checked import CheckedLabels, SuspiciousLabels, suspect
from xsdc.fitting.features import FeatureRows
from xsdc.fitting.labels import Outcome, PointClassifier
from xsdc.fitting.order import in_content_order
from xsdc.fitting.settings import ClusterSize
from xsdc.fitting.sources import (
    ArraySource,
    Source,
    as_source,
    first_look,
    from_sparse,
    prepare,
    read_blocks,
    stream_blocks,
)
from xsdc.fitting.spreads import warn_of_spreads
from xsdc.fitting.stream import KEPT, Course, Kept, keep_some, read_chunk, trained_on, why_anew
from xsdc.fitting.telling import describe_options
from xsdc.labelers import Labeler
from xsdc.model_file import ModelFile, damaged
from xsdc.networks import Network, NetworkConfig, build_network
from xsdc.networks.build import NetworkSpec
from xsdc.networks.images import is_image_array
from xsdc.training import Callback, Checkpoints, Processes

Auto = Literal["auto"]
Array = npt.NDArray[Any]
OUTLIERS = "more than three times as far from the median as nine tenths of the rows; moved next to the others"
TOLERANCE = 1e-6  # of the sum of probabilities
SAVED_ARRAYS = ("labels_", "classes_", "eigenvalues_", "feature_names_in_")
SAVED_FACTS = (
    "history_",
    "n_clusters_",
    "n_clusters_ranking_",
    "n_iter_",
    "n_violated_links_",
    "n_features_in_",
    "_norm",
    "_named",
)


class XSDC(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster or classify with no labels, some, or all, learning the representation along with the grouping.

    X-Supervised Discriminative Clustering (Jones, Roulet and Harchaoui, 2022). A network maps points to features on
    which a ridge regression must explain the grouping; the grouping, as a matrix that says who is with whom, is filled
    in by balancing under everything that is known: labels, pairs, allowed classes, bounds on sizes.

    Parameters
    ----------
    n_clusters : int, optional
        Number of classes, k. By default as many as the labels name. Without labels it may stay open: training needs
        only the bounds of ``cluster_size``, and a number is then suggested (see `relabel`).
    algorithm : {"ensemble", "published"}
        "ensemble" classifies by an ensemble of classifiers of the labels, or of the groups found where some class has
        none; "published" trains, labels and classifies as the paper does, see `as_published`.
    effort : {"fast", "normal", "best"}
        Whether the network is trained, where ``max_iter`` is "auto": "fast" never; "normal" on images, and where you
        give or name the network, for training on vectors gained little in the mean of many data sets; "best" always,
        with three times the steps where weights are trained. The answer without training stays where training does not
        make it better.
    cluster_size : "auto", "equal", (min, max), one pair per class, or mapping from class to pair
        Bounds on the share of points in a class, n_min / n and n_max / n. "equal" is the paper's default, 1/k each.
        "auto" trains between half and twice that and chooses at the end, by a criterion that needs no labels, among
        nearly equal, up to four to one and up to fifteen to one. Bounds given as numbers also hold for the sizes in
        ``labels_``, rounded to whole points, wherever labels and links let them.
    network : str, mapping, nn.Module, transformer or callable
        The representation phi: "auto" chooses by the data; "kn", "lenet5-ckn", "ckn-gm", "ckn", "cnn" by name; others
        as in `xsdc.networks.build_network`. A module is copied before training.
    labeler : str or Labeler
        How M is filled in at each step: "graph", by the probabilities that a fit without training finds for all points;
        "balancing", the paper's Algorithm 1; "pseudo-labels", "deep-clustering", "eigen", "eigen-kmeans", "hard", or
        one of your own, see `xsdc.labelers`. "auto" is "graph", and "balancing" as published.
    max_iter, supervised_iter : int or "auto"
        Steps on all points, after steps on labeled points alone; "auto" by ``effort`` and the kind of the network.
    batch_size, labeled_batch_size : int
        Unlabeled points in a step, copies counted, and labeled ones; "graph" draws both together, ``batch_size`` of
        them. "auto" is 1,024 for kernel networks and 256 for others.
    piece_size : int, optional
        Points of a step that go through the network at a time, by default all of them. In pieces a large batch takes
        the memory of a small one and some more time, and the step stays the same.
    memory_size : int
        Unlabeled points of earlier steps whose features are remembered and balanced along with the batch.
    learning_rate, supervised_learning_rate : float or "auto"
        Of steps on all points and on labeled ones. A number is the length of each filter's step where filters are on
        the sphere (convolutional kernel networks), and the factor of the gradient elsewhere. With "auto" for both,
        lengths of step adapt (Adam), grow over the first tenth of the steps and then fall to zero.
    ridge : float or "auto"
        lambda. "auto" keeps a number of effective dimensions per class in training, chosen again as it goes, and takes
        the value with the least left-out error for the classifier.
    filter_penalty : float
        zeta, the weight of the squared norm of free filters.
    entropy : float or "median"
        nu, how soft M is; "median" is the paper's median of all |A_ij|.
    augmentation : "auto", "images", callable or None
        Changes each input of a step: "images" as the paper does, or a function of a batch (n, ...) and a
        torch.Generator. "auto" is "images" for images, and None as published.
    copies : int
        Changed copies of each point in a step, tied together by must-links; of labeled ones as many as their batch has
        room for.
    validation : "auto", float, (X, y) or None
        What training is scored by; the best state is kept. A share of the given labels that training then does not see,
        a set of its own, or nothing. "auto" is nothing with the labeler "graph"; with others it holds a fifth out where
        there are 500 labels or more and ten of each class.
    patience : int, optional
        Evaluations without a better score after which training stops.
    evaluate_every : int
        Steps between two evaluations.
    device : str or torch.device
        Where to compute.
    dtype : {"auto", "float32", "float64"}
        Precision of the network: "auto" is float64 for vectors, float32 for images. What is ill-conditioned is always
        solved in float64, and M is always balanced in float32.
    channels : {None, "first", "last"}
        The channel axis of images, where the shape leaves it open.
    callbacks : sequence of xsdc.training.Callback
        Observers of training.
    progress : bool or "auto"
        Whether to show progress on stderr; "auto" where that is a terminal.
    random_state : int, RandomState or None
        The one source of randomness.

    Attributes
    ----------
    labels_ : array, shape (n,)
        Class of each point of the data; a label that was given stays as it was.
    classes_ : array, shape (n_clusters_,)
        Names of the classes: those the labels name, then numbers or "cluster 1", ... for those found.
    n_clusters_ : int
        Their number.
    n_clusters_ranking_ : list of pairs
        Plausible numbers and how probable each is, the most probable first; one alone where the number was told. Below
        0.8 the first is a guess. `relabel` takes another one.
    history_ : dict
        ``choices``: what was chosen and why; ``steps``: each step of training; ``stopped``, ``best_iteration``.
    n_iter_ : int
        Steps made.
    network_ : Network
        The trained representation.
    eigenvalues_ : array
        Leading eigenvalues of the smoother by which groups were found, or of M where they were found as published: near
        1 for each group that is well apart from the others; none where every class has labels, which then tell the
        classes.
    n_violated_links_ : int
        Cannot-links that the labels found do not meet.
    checked_ : CheckedLabels or None
        Where every class has labels: ``points``, labeled points without must-links whose classes have other labels;
        and the ``probabilities`` that the classifier gives them without their own, before any training. Not saved, and
        None after `partial_fit` and with ``algorithm="published"``.
    suspicious_labels_ : SuspiciousLabels or None
        The labels among those in ``checked_`` that are probably wrong, the most improbable first: ``points``,
        ``labels``, their ``probabilities``, and the ``likelier`` classes with their ``likelier_probabilities``. None
        where ``checked_`` is.
    n_features_in_, feature_names_in_
        As usual in scikit-learn, for vectors.

    Notes
    -----
    Vectors are used as they come: where columns have different units, scale them first (``StandardScaler`` in a
    pipeline), as for any method that measures distances. A warning names columns that differ a thousandfold in spread.
    Rows far from nearly all others are moved next to them, see `xsdc.core.outliers`; `history_` names them.

    Examples
    --------
    >>> import numpy as np
    >>> from xsdc import XSDC
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3) * 6, 30, axis=0) + rng.normal(size=(90, 3))
    >>> y = np.full(90, None)
    >>> y[[0, 30, 60]] = ["ant", "bee", "cat"]
    >>> model = XSDC(random_state=0).fit(X, y)
    >>> [str(name) for name in model.predict(np.eye(3) * 6)]
    ['ant', 'bee', 'cat']
    """

    history_: dict[str, Any]
    labels_: Array
    n_clusters_ranking_: list[tuple[int, float]]
    checked_: CheckedLabels | None
    suspicious_labels_: SuspiciousLabels | None
    _stream: Course
    _streamed: bool
    _lost: tuple[str, ...]

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        algorithm: str = "ensemble",
        effort: str = "normal",
        cluster_size: ClusterSize = "auto",
        network: NetworkSpec = "auto",
        labeler: str | Labeler = "auto",
        max_iter: int | Auto = "auto",
        supervised_iter: int | Auto = "auto",
        batch_size: int | Auto = "auto",
        labeled_batch_size: int = 1024,
        piece_size: int | None = None,
        memory_size: int = 0,
        learning_rate: float | Auto = "auto",
        supervised_learning_rate: float | Auto = "auto",
        ridge: float | Auto = "auto",
        filter_penalty: float = 0.0,
        entropy: float | Literal["median"] = "median",
        augmentation: str | Callable[[Tensor, torch.Generator], Tensor] | None = "auto",
        copies: int = 1,
        validation: float | tuple[Any, Any] | Auto | None = "auto",
        patience: int | None = None,
        evaluate_every: int = 10,
        device: str | torch.device = "cpu",
        dtype: str = "auto",
        channels: str | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | Auto = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.effort = effort
        self.cluster_size = cluster_size
        self.network = network
        self.labeler = labeler
        self.max_iter = max_iter
        self.supervised_iter = supervised_iter
        self.batch_size = batch_size
        self.labeled_batch_size = labeled_batch_size
        self.piece_size = piece_size
        self.memory_size = memory_size
        self.learning_rate = learning_rate
        self.supervised_learning_rate = supervised_learning_rate
        self.ridge = ridge
        self.filter_penalty = filter_penalty
        self.entropy = entropy
        self.augmentation = augmentation
        self.copies = copies
        self.validation = validation
        self.patience = patience
        self.evaluate_every = evaluate_every
        self.device = device
        self.dtype = dtype
        self.channels = channels
        self.callbacks = callbacks
        self.progress = progress
        self.random_state = random_state

    @classmethod
    def as_published(
        cls, n_clusters: int | None = None, *, random_state: int | np.random.RandomState | None = None
    ) -> XSDC:
        """Make an estimator that does what the paper does: one with ``algorithm="published"``.

        Options left "auto" have the paper's values: its networks with 32 filters, 500 steps, the first 100 of them on
        labeled points, classes of equal size, and lambda by a validation set where there is one. Each point then takes
        the label of its nearest labeled neighbor by the learned features; where some class has no label, M is balanced
        over at most 10,000 points and clustered by its eigenvectors. `predict` is ridge regression on the features,
        fitted to all points with these classes. Learning rates, which the paper tunes for each data set, stay "auto".

        Parameters
        ----------
        n_clusters : int, optional
            As for `XSDC`.
        random_state : int, RandomState or None
            As for `XSDC`.

        Returns
        -------
        XSDC
            Not fitted. `set_params` changes any option.
        """
        return cls(n_clusters, algorithm="published", random_state=random_state)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        allowed_labels: Mapping[int, Iterable[Any]] | None = None,
        checkpoints: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> XSDC:
        """Learn representation, grouping and classifier.

        Parameters
        ----------
        X : array-like, data frame, tensor, or torch dataset
            Vectors (n, d), or images (n, H, W), (n, H, W, C) or (n, C, H, W). Of a ``np.memmap`` or a dataset only some
            rows are in memory at a time; an ``IterableDataset`` is written to a temporary file first. An item of a
            dataset is a row, or a pair of a row and its label, which counts where ``y`` is not given.
        y : array-like, shape (n,), optional
            Labels, whole numbers or strings; -1, None or NaN where unknown.
        must_link, cannot_link : array-like, shape (m, 2), optional
            Pairs of row positions in the same and in different classes.
        allowed_labels : mapping from row position to labels, optional
            Classes that a point may have: ``{7: ["four", "nine"]}``.
        checkpoints : path, optional
            Folder in which to keep the last states of training. It serves one fit.
        resume : bool
            Whether to go on from the last state there. With the same data, options and ``random_state`` the model ends
            as that of an uninterrupted fit, bit for bit on one machine.

        Returns
        -------
        self

        Notes
        -----
        Where torch.distributed has a process group, all its processes must call `fit` with the same arguments; they
        share the work and end with the same model. The first one keeps the checkpoints.
        """
        self._warn_of_lost()
        settings = self._settings()
        if checkpoints is not None:
            about = describe_options(self.get_params(deep=False), without=("progress", "callbacks"))
            keeper = Checkpoints(checkpoints, resume=resume, about=about)
            settings = replace(settings, callbacks=(*settings.callbacks, keeper))
        elif resume:
            raise InvalidInputError("resume needs to know where the states are kept: give checkpoints.")
        X = self._read(X, reset=True)
        if isinstance(X, ArraySource):
            X.check()
        knowledge = read_knowledge(
            len(X),
            y=X.labels if y is None and isinstance(X, Source) else y,
            must_link=must_link,
            cannot_link=cannot_link,
            allowed_labels=allowed_labels,
            n_clusters=self.n_clusters,
        )
        sizes = check_sizes(settings.cluster_size, knowledge)
        rows = X
        X, self._order = in_content_order(X)  # the model does not depend on the order of the rows
        knowledge = knowledge.reordered(self._order)
        rng = Processes.here().agree(lambda: check_random_state(self.random_state))
        generator = torch.Generator().manual_seed(int(rng.randint(2**31)))
        choices = Choices()
        network = self._make_network(X, knowledge, settings, choices, generator)
        fitted = fit_model(
            network,
            prepare(network, X, channels=self.channels),
            knowledge,
            settings,
            sizes=sizes,
            choices=choices,
            validation=self._validation_set(network, knowledge),
            rng=rng,
            generator=generator,
        )
        self._take(fitted, choices, rng)
        facts = {"must_link": must_link, "cannot_link": cannot_link, "allowed_labels": allowed_labels}
        labels = rows.labels if y is None and isinstance(rows, Source) else y
        kept = keep_some(rows, labels, facts, rng=check_random_state(self._seed))
        self._stream, self._streamed = Course(kept, len(rows)), False
        return self

    def _make_network(
        self, X: Any, knowledge: Knowledge, settings: Settings, choices: Choices, generator: torch.Generator
    ) -> Network:
        spec = copy_module(choose_network(self.network, X.shape, knowledge, choices, algorithm=settings.algorithm))
        dtype = settings.dtype
        if dtype == "auto":
            dtype = torch.float32 if is_image_array(X) else torch.float64
        look = first_look(X)
        if not is_image_array(X):
            warn_of_spreads(look, getattr(self, "feature_names_in_", None), stacklevel=3)
        limit = settings.algorithm != "published"
        network = build_network(
            spec, look, generator=generator, dtype=dtype, channels=self.channels, limit_outliers=limit
        )
        outliers = network.outliers(look, channels=self.channels)
        if outliers:
            rows = sorted(self._order[outliers].tolist())
            which = f"rows {checks.named(rows)}" if len(look) == len(X) else f"of {len(look)} rows looked at"
            choices.note("outliers", len(outliers), f"{which}: {OUTLIERS}")
        return network.to(settings.device)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        allowed_labels: Mapping[int, Iterable[Any]] | None = None,
        classes: Any = None,
        keep: int = KEPT,
    ) -> XSDC:
        """Learn from the next part of a stream, also after `fit`; what came before is kept in a bounded memory.

        Labeled points of each class and an even sample of all others are kept as they came, with what is known of them.
        The network is made anew from them each time the stream has doubled, and when a label names a class for the
        first time; in between it is trained on. A network that the user has given is only ever trained on.

        Parameters
        ----------
        X, y, must_link, cannot_link, allowed_labels
            As for `fit`; positions are those in this part.
        classes : array-like, optional
            Names of classes, those that are to come among them. New classes may also appear unannounced.
        keep : int
            Points that are kept for the next call.

        Returns
        -------
        self
            ``labels_`` are those of this part. Clusters without a name keep theirs from part to part.
        """
        keep = checks.as_count(keep, name="keep", minimum=100)
        before: Course | None = getattr(self, "_stream", None)
        if before is None and hasattr(self, "network_"):
            raise InvalidInputError(
                "This model was fitted as a whole, and its file holds none of its points. Begin a stream with a new"
                " model, or go on in the process that fitted."
            )
        self._warn_of_lost()
        rows = self._read(X, reset=before is None)
        if isinstance(rows, Source):
            y = rows.labels if y is None else y
            rows = rows.take(np.arange(len(rows)))
        rows = rows.detach().cpu().numpy() if isinstance(rows, Tensor) else np.asarray(rows)
        if before is None:
            seed = Processes.here().agree(lambda: check_random_state(self.random_state).randint(2**31))
            self._seed = int(seed)
        rng = np.random.RandomState([self._seed, 0 if before is None else before.kept.seen])
        chunk = read_chunk(
            rows,
            y,
            must_link=must_link,
            cannot_link=cannot_link,
            allowed_labels=allowed_labels,
            classes=classes,
            rng=rng,
        )
        course = self._learn_chunk(chunk if before is None else before.kept.joined(chunk), before, rng)
        self._stream, self._streamed = replace(course, kept=course.kept.thinned(keep)), True
        self.labels_ = self.labels_[-len(rows) :]
        return self

    def _learn_chunk(self, kept: Kept, before: Course | None, rng: np.random.RandomState) -> Course:
        settings, choices = self._settings(), Choices()
        self._order = np.arange(len(kept))
        why = why_anew(kept, before)
        own = not isinstance(self.network, str | Mapping | NetworkConfig)
        anew = before is None or (why is not None and not own)
        open_number = self.n_clusters is None and not kept.names
        knowledge = read_knowledge(
            len(kept),
            y=kept.y,
            **kept.facts,
            n_clusters=self.n_clusters_ if open_number and not anew else self.n_clusters,
            also_named=kept.names,
        )
        generator = torch.Generator().manual_seed(int(rng.randint(2**31)))
        earlier = None if before is None else self._named_by(read_blocks(kept.X))
        if before is None or anew:
            choices.note("network made anew", True, str(why))
            network, made_at = self._make_network(kept.X, knowledge, settings, choices, generator), kept.seen
        else:
            network, made_at = copy.deepcopy(self.network_), before.made_at
            build_network(
                network, kept.X, generator=generator, dtype=torch.float64, channels=self.channels, limit_outliers=True
            )  # what is an outlier may have changed
            settings = trained_on(settings)
        fitted = fit_model(
            network,
            network.prepare(kept.X, channels=self.channels),
            knowledge,
            settings,
            sizes=check_sizes(settings.cluster_size, knowledge),
            choices=choices,
            validation=self._validation_set(network, knowledge),
            earlier=earlier,
            rng=rng,
            generator=generator,
        )
        seed, steps = self._seed, getattr(self, "n_iter_", 0)
        self._take(fitted, choices, rng)
        self._seed, self.n_iter_ = seed, steps + len(fitted.steps)
        del self._fitted  # its positions are those of the points kept, which the user does not know
        self.checked_ = self.suspicious_labels_ = None  # the same
        return Course(kept, made_at)

    def fit_predict(self, X: Any, y: Any = None, **facts: Any) -> Array:
        """Fit, and return the class of each point; takes what `fit` takes."""
        return np.asarray(self.fit(X, y, **facts).labels_)

    def predict(self, X: Any) -> Array:
        """Class of each point, by the classifier.

        For points of the data that was fitted ``labels_`` also keeps to what was given of them.
        """
        check_is_fitted(self)
        return self._named_by(self._blocks(X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class in ``classes_``, shape (n, n_clusters_); rows sum to one.

        As published, where the paper has none, the softmax of the scores of the ridge regression, as sharp as makes
        left-out labels most likely.
        """
        check_is_fitted(self)
        return np.asarray(np.exp(np.concatenate([self._log_probabilities(block) for block in self._blocks(X)])))

    def transform(self, X: Any) -> Array:
        """Learned features, shape (n, D), of norm one on average."""
        check_is_fitted(self)
        return np.concatenate([self._embed(block).cpu().numpy() for block in self._blocks(X)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of known labels that are predicted; rows with unknown labels do not count.

        After a fit without labels clusters have no names: they are matched to the classes one to one first.
        """
        return share_right(self.predict(X), y, named=self._named, sample_weight=sample_weight)

    def equivalence(self, points: Any) -> Array:
        """Estimate M among some points of the data: how much each is with each other, from 0 to 1.

        The cost of the learned features is balanced as for the labels, under what is known and the bounds on sizes,
        along with up to 3,000 points that stand for all.
        Only in the process that fitted: the features of the data are not saved.

        Parameters
        ----------
        points : array-like of int, shape (m,)
            Positions, two or more; a matrix (m, m) is formed.
        """
        fitted = self._in_memory("equivalence")
        if np.asarray(points).dtype == bool:
            raise InvalidInputError("points must hold positions; those of a mask are np.flatnonzero(mask).")
        chosen = checks.as_codes(points, n=len(points), name="points").numpy()
        if len(chosen) < 2 or chosen.max() >= len(self.labels_):
            raise InvalidInputError(f"points must hold two or more positions from 0 to {len(self.labels_) - 1}.")
        return np.asarray(fitted.equivalence(self._place[chosen]).clamp(0, 1).cpu().numpy())

    def relabel(self, n_clusters: int) -> XSDC:
        """Label the data anew with another number of clusters, on the features as they were learned.

        Only after a fit without labels, and in the process that fitted: the features of the data are not saved. A
        further `fit` or `partial_fit` has the number that the option ``n_clusters`` says.
        """
        fitted = self._in_memory("relabel")
        knowledge = fitted.outcome.knowledge
        if knowledge.n_named:
            raise InvalidInputError("relabel is for clusters that no label names. Set n_clusters, and fit again.")
        number = checks.as_count(n_clusters, name="n_clusters", maximum=knowledge.n)
        choices = Choices()
        outcome = fitted.relabeled(number, choices=choices, rng=check_random_state(self._seed))
        self.history_ = {**self.history_, "choices": self.history_["choices"] + choices.made}
        self._fitted = replace(fitted, outcome=outcome)
        self._take_outcome(outcome)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to one file, without the data's features; of a stream with the points that are kept.

        A module, transformer or callable of the user stays outside; `load` wants it again.
        """
        check_is_fitted(self)
        arrays = {name: getattr(self, name) for name in SAVED_ARRAYS if hasattr(self, name)}
        facts = {name: getattr(self, name) for name in SAVED_FACTS if hasattr(self, name)}
        stream: Course | None = getattr(self, "_stream", None)
        if stream is not None and self._streamed:
            arrays |= stream.kept.arrays()
            facts |= {"stream": stream.plain(), "_seed": self._seed}
        ModelFile(self.get_params(deep=False), self.network_, self._classifier, arrays, facts).write(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, network: object | None = None) -> XSDC:
        """Load a model saved by `save`. Nothing in the file is run.

        Parameters
        ----------
        path : str or path
            The file.
        network : nn.Module, transformer or callable, optional
            One of the same make, where the model was fitted with it.
        """
        file = ModelFile.read(path, network=network)
        try:
            model = cls._restored(file, network)
            model._try()
        except Exception as error:  # of any kind, where what was stored does not fit together
            raise damaged(path, error) from error
        return model

    @classmethod
    def _restored(cls, file: ModelFile, network: object | None) -> XSDC:
        """Make an estimator of what a file holds."""
        params = dict(file.params)
        if isinstance(params.get("cluster_size"), list):  # JSON has no tuples
            params["cluster_size"] = tuple(params["cluster_size"])
        model = cls(**params)
        if network is not None:
            model.set_params(network=network)
        facts = dict(file.facts)
        if "stream" in facts:
            model._stream, model._streamed = Course.restored(file.arrays, facts.pop("stream")), True
        for name, value in {**file.arrays, **facts}.items():
            if not name.startswith("stream_"):
                setattr(model, name, value)
        model.n_clusters_ranking_ = [(number, share) for number, share in model.n_clusters_ranking_]
        if hasattr(model, "feature_names_in_"):
            model.feature_names_in_ = model.feature_names_in_.astype(object)
        model._lost = tuple(name for name in file.lost if name not in ("callbacks", "network"))
        model.network_ = file.network.to(torch.device(model.device))
        model._classifier = file.classifier
        return model

    def _try(self) -> None:
        """Classify one point, so that parts of a file that do not fit each other are noticed before the data come."""
        network = self.network_
        example = torch.zeros((1, *network.input_shape), dtype=network.dtype, device=network.device)
        with np.errstate(all="ignore"):
            found = self._classifier.log_probabilities(example, scaled_features(network, example, self._norm))
        total = np.exp(found).sum()
        if found.shape != (1, len(self.classes_)) or not abs(total - 1) < TOLERANCE:
            raise ValueError("its classifiers do not give a probability to each class")
        if self.labels_.ndim != 1 or not set(self.labels_.tolist()) <= set(self.classes_.tolist()):
            raise ValueError("its labels are not among its classes")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.one_d_labels = True
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # features have the type that the option dtype says
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.network_.n_features

    def _in_memory(self, method: str) -> Fitted:
        check_is_fitted(self)
        fitted: Fitted | None = getattr(self, "_fitted", None)
        if fitted is None:
            raise InvalidInputError(
                f"{method} needs the features of the data, which neither a file nor a stream holds. Fit again."
            )
        return fitted

    def _warn_of_lost(self) -> None:
        """Tell once of options that the file of this model could not hold, and that were not set again."""
        standard = {name: p.default for name, p in signature(type(self).__init__).parameters.items()}
        lost = [name for name in getattr(self, "_lost", ()) if getattr(self, name) is standard[name]]
        self._lost = ()
        if lost:
            warnings.warn(
                f"The file of this model could not hold {', '.join(lost)}; to go on as before, set"
                f" {'it' if len(lost) == 1 else 'them'} with set_params.",
                UserWarning,
                stacklevel=3,
            )

    def _settings(self) -> Settings:
        options = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("n_clusters", "network", "channels", "random_state", "validation")
        }
        given = not (isinstance(self.network, str) and self.network == "auto")
        return read_settings(validation_set=self.validation, network_given=given, **options)

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Check the data; images are checked by the network, rows of a source when they are read."""
        if isinstance(X, Tensor) and X.dtype == torch.bfloat16:  # which NumPy does not have
            X = X.float()
        X = from_sparse(X) if issparse(X) else X
        source = as_source(X)
        if source is not None and source.ndim == 2:
            self._read(source.take(np.arange(min(2, len(source)))), reset=reset)
            return source
        X = X if source is None else source
        if is_image_array(X):
            least = 2 if reset else 1
            if len(X) < least:
                raise InvalidInputError(f"X must hold at least {least} image(s); it has n_samples={len(X)}.")
            if reset:
                for name in ("n_features_in_", "feature_names_in_"):
                    if hasattr(self, name):
                        delattr(self, name)
            return X
        if not reset and not hasattr(self, "n_features_in_"):
            raise InvalidInputError("The model was fitted to images; X must hold images too.")
        return self._read_vectors(X, reset=reset)

    def _read_vectors(self, X: Any, *, reset: bool) -> Array:
        if isinstance(X, str | os.PathLike):
            raise InvalidInputError(
                "X must hold numbers; it is the name of a file. `xsdc fit` on the command line reads files, and so does"
                " `xsdc.data.read_data`."
            )
        X = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
        least = 2 if reset else 1
        try:
            read: Array = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)
        except (TypeError, ValueError) as error:
            words = [str(name) for name, kind in dict(getattr(X, "dtypes", {})).items() if kind.kind not in "biufc"]
            if not words and "NaN" in str(error):
                raise InvalidInputError(
                    f"{str(error).splitlines()[0]} Fill in what is missing, by a pipeline with `xsdc.data.Preparation`"
                    " for example: make_pipeline(Preparation(), XSDC()). `xsdc fit` on the command line does so."
                ) from error
            if not words:
                raise
            raise InvalidInputError(
                f"X must hold numbers; the columns {', '.join(words[:5])} of this table do not. Turn them into numbers,"
                " by `xsdc.data.Preparation` for example, or let `xsdc fit` on the command line do so."
            ) from error
        return read

    def _blocks(self, X: Any) -> Iterator[Any]:
        """Some rows at a time, checked."""
        if isinstance(X, IterableDataset):
            yield from (self._read(block, reset=False) for block in stream_blocks(X))
        else:
            yield from read_blocks(self._read(X, reset=False))

    def _embed(self, rows: Any) -> Tensor:
        """Features of rows that were checked."""
        return scaled_features(self.network_, self.network_.prepare(rows, channels=self.channels), self._norm)

    def _log_probabilities(self, rows: Any) -> Array:
        """Logarithms of the probability of each class, of rows that were checked."""
        data = self.network_.prepare(rows, channels=self.channels)
        return self._classifier.log_probabilities(data, FeatureRows(self.network_, data, self._norm))

    def _named_by(self, blocks: Iterable[Any]) -> Array:
        """Classes by the classifier."""
        codes = np.concatenate([self._log_probabilities(block).argmax(1) for block in blocks])
        return np.asarray(self.classes_[codes])

    def _validation_set(self, network: Network, knowledge: Knowledge) -> tuple[Tensor, npt.NDArray[np.int64]] | None:
        if not isinstance(self.validation, tuple | list):
            return None
        X, y = self.validation
        if not (knowledge.constraints.classes >= 0).any():
            raise InvalidInputError(
                "validation holds labels to score by, but the fit has none to name its classes by. Give y, or leave"
                " validation out."
            )
        X = self._read(X, reset=False)
        labels = checks.as_labels(y, n=len(X))
        known = ~checks.is_unknown(labels)
        code_of = {name: code for code, name in enumerate(knowledge.names.tolist())}
        strange = [name for name in labels[known].tolist() if name not in code_of]
        if strange or not known.any():
            what = f"the label {strange[0]!r}, which names no class of y" if strange else "no label"
            raise InvalidInputError(f"validation holds {what}.")
        data = prepare(network, X, channels=self.channels)
        return data[torch.from_numpy(known)], np.array([code_of[name] for name in labels[known].tolist()])

    def _take(self, fitted: Fitted, choices: Choices, rng: np.random.RandomState) -> None:
        self.network_, self._norm, self._fitted = fitted.network, fitted.norm, fitted
        self._seed = int(rng.randint(2**31))
        self.n_iter_ = len(fitted.steps)
        self.history_ = {
            "choices": choices.made,
            "steps": fitted.steps,
            "stopped": fitted.stopped,
            "best_iteration": fitted.best_iteration,
        }
        self.n_clusters_ranking_ = fitted.ranking
        self._take_outcome(fitted.outcome)

    def _take_outcome(self, outcome: Outcome) -> None:
        knowledge = outcome.knowledge
        self.classes_, self.n_clusters_ = knowledge.names, len(knowledge.names)
        self._named = knowledge.n_named > 0
        self._place = np.argsort(self._order)
        self.labels_ = knowledge.names[outcome.codes[self._place]]
        self.eigenvalues_ = outcome.eigenvalues
        self.n_violated_links_ = outcome.violated
        self.checked_ = self.suspicious_labels_ = None
        if (checked := outcome.checked) is not None:
            suspicious = suspect(knowledge, checked)
            self.checked_ = replace(checked, points=self._order[checked.points])
            self.suspicious_labels_ = replace(suspicious, points=self._order[suspicious.points])
        self._classifier: PointClassifier = outcome.classifier


def copy_module(spec: NetworkSpec) -> NetworkSpec:
    """Copy a module, so that a fit leaves the parameter of the estimator as it was."""
    return copy.deepcopy(spec) if isinstance(spec, torch.nn.Module) else spec
