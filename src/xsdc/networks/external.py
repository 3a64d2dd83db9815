"""Representations brought by the user: a torch module with its own parameters, or a fixed map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from xsdc.errors import InvalidInputError
from xsdc.networks.network import Network


@runtime_checkable
class Transformer(Protocol):
    """What is asked of a scikit-learn transformer."""

    def fit(self, X: Any) -> Any:
        """Learn from X (n, d)."""

    def transform(self, X: Any) -> Any:
        """Map X (n, d) to (n, D)."""


class ModuleNetwork(Network):
    """Any `nn.Module` that maps a batch to (n, D) or (n, C, H, W), trained by its own parameters.

    A map (n, C, H, W) is averaged over its positions, which gives C features; end the module with
    ``nn.Flatten()`` to keep the positions. The module is used as it is, not copied, and a batch reaches it
    whole, so that layers such as batch normalisation see all of it. Data is brought to the type of its
    parameters.

    Parameters
    ----------
    module : nn.Module
        The module.
    example : Tensor (n, *input_shape)
        A few prepared inputs, to find the number of features.
    dtype : torch.dtype
        Type of the data for a module without floating-point parameters.
    """

    def __init__(self, module: nn.Module, *, example: Tensor, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.module = module
        self.input_shape = tuple(example.shape[1:])
        self._dtype = dtype
        self._frozen = [part for part in module.modules() if not part.training] if module.training else []
        try:
            self.n_features = int(self.features(example[:2].to(self.device, self.dtype)).shape[1])
        except InvalidInputError:
            raise
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise InvalidInputError(
                f"The module {type(module).__name__} does not take a batch of shape {tuple(example[:2].shape)}: {error}"
            ) from error

    def train(self, mode: bool = True) -> ModuleNetwork:
        """Set the mode; parts that the user has put into evaluation mode, the others in training, stay there."""
        super().train(mode)
        for part in self._frozen:
            part.training = False
        return self

    @property
    def dtype(self) -> torch.dtype:
        """Type of the module's parameters, and so of the data; as given for a module that has none."""
        return next((p.dtype for p in self.module.parameters() if p.is_floating_point()), self._dtype)

    def forward(self, batch: Tensor) -> Tensor:
        """Map a batch (n, *input_shape) to features (n, D)."""
        self._check_batch(batch)
        Phi = self.module(batch)
        if not isinstance(Phi, Tensor):
            raise InvalidInputError(
                f"The module must return a tensor (n, D) or (n, C, H, W); it returned {type(Phi).__name__}."
            )
        if Phi.ndim == 4:
            Phi = Phi.mean((2, 3))
        return _as_rows(Phi, n=len(batch), what=f"The module {type(self.module).__name__}")

    def description(self) -> dict[str, Any]:
        """Describe the network; the module itself is the user's to bring again."""
        return {"kind": "module", "module": type(self.module).__name__}


class FixedNetwork(Network):
    """A representation that is not trained: a scikit-learn transformer, or a plain callable.

    Parameters
    ----------
    transform : transformer or callable
        A transformer gets arrays (n, d), images flattened; one that is not fitted is copied, and the copy fitted
        on the example. A callable gets the prepared batch, a tensor (n, d) or (n, C, H, W), and returns features
        (n, D) as a tensor or an array. No gradient passes through either.
    example : Tensor (n, *input_shape)
        Prepared data.
    dtype : torch.dtype, default float32
        Type of the data and the features.
    """

    def __init__(
        self,
        transform: Transformer | Callable[[Tensor], Any],
        *,
        example: Tensor,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.input_shape = tuple(example.shape[1:])
        self._dtype = dtype
        self.transform = _fitted(transform, example) if isinstance(transform, Transformer) else transform
        self.n_features = int(self.features(example[:2].to(dtype)).shape[1])

    @property
    def dtype(self) -> torch.dtype:
        """Type of the data and the features."""
        return self._dtype

    def forward(self, batch: Tensor) -> Tensor:
        """Map a batch (n, *input_shape) to features (n, D), without a gradient."""
        self._check_batch(batch)
        batch = batch.detach()
        if isinstance(self.transform, Transformer):
            raw = self.transform.transform(_as_array(batch))
        else:
            raw = self.transform(batch)
        Phi = _as_tensor(raw, like=batch).to(self.dtype)
        return _as_rows(Phi, n=len(batch), what="The representation").detach()

    def description(self) -> dict[str, Any]:
        """Describe the network; the transformer or callable is the user's to bring again."""
        return {"kind": "fixed", "transform": type(self.transform).__name__}


def is_fitted(transformer: Transformer) -> bool:
    """Whether a transformer is ready; one without scikit-learn's manners is taken to be."""
    if not isinstance(transformer, BaseEstimator):
        return True
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True


def _fitted(transformer: Transformer, example: Tensor) -> Transformer:
    if is_fitted(transformer):
        return transformer
    fresh: Transformer = clone(transformer)
    fresh.fit(_as_array(example))
    return fresh


def _as_array(batch: Tensor) -> np.ndarray[Any, Any]:
    return batch.detach().cpu().flatten(1).numpy()


def _as_tensor(raw: Any, *, like: Tensor) -> Tensor:
    if isinstance(raw, Tensor):
        return raw
    if hasattr(raw, "toarray"):  # scipy's sparse matrices
        raw = raw.toarray()
    array = np.asarray(raw)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"The representation must return numbers; it returned {array.dtype}.")
    return torch.from_numpy(np.array(array)).to(like.device)


def _as_rows(Phi: Tensor, *, n: int, what: str) -> Tensor:
    if Phi.ndim != 2 or Phi.shape[0] != n or Phi.shape[1] == 0:
        raise InvalidInputError(
            f"{what} must map a batch of {n} to features ({n}, D); it returned shape {tuple(Phi.shape)}."
        )
    return Phi
