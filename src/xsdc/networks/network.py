"""What every representation offers, whatever it is made of: prepare the data, map batches to features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from xsdc.core.outliers import Limits
from xsdc.errors import DivergedError, InvalidInputError
from xsdc.networks.images import as_images
from xsdc.networks.rows import Rows
from xsdc.validation import as_count, as_features


class Network(nn.Module, ABC):
    """A representation phi_V: batches of vectors or images in, features (n, D) out.

    Attributes
    ----------
    input_shape : tuple of int
        (d,) for vectors, (C, H, W) for images.
    n_features : int
        D.
    limits : Limits or None
        By which outliers among the inputs are moved; None to leave them where they are.
    """

    input_shape: tuple[int, ...]
    n_features: int
    limits: Limits | None = None

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Type of the prepared data and of the features."""

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        tensors = [*self.parameters(), *self.buffers()]
        return tensors[0].device if tensors else torch.device("cpu")

    @property
    def trainable(self) -> bool:
        """Whether a gradient step can change the representation."""
        return any(p.requires_grad for p in self.parameters())

    @property
    def takes_images(self) -> bool:
        """Whether batches are images (n, C, H, W), and not vectors (n, d)."""
        return len(self.input_shape) == 3

    def prepare(self, X: object, *, channels: str | None = None) -> Tensor:
        """Check data given by a user and bring it into the form that `forward` takes batches of.

        Parameters
        ----------
        X : array-like
            Vectors (n, d), or images in any layout that `as_images` reads.
        channels : {None, "first", "last"}
            The channel axis of images, where it cannot be told from the shape.

        Returns
        -------
        Tensor (n, *input_shape)
            Outliers are moved within the ``limits``.
        """
        data = self._read(X, channels)
        return data if self.limits is None else self.limits(data)

    def outliers(self, X: object, *, channels: str | None = None) -> list[int]:
        """Positions of the rows of X that `prepare` moves."""
        return [] if self.limits is None else self.limits.far(self._read(X, channels)).nonzero().flatten().tolist()

    def _read(self, X: object, channels: str | None) -> Tensor:
        data = prepare_input(X, images=self.takes_images, channels=channels, dtype=self.dtype)
        if tuple(data.shape[1:]) != self.input_shape:
            raise InvalidInputError(
                f"The network was made for inputs of shape {self.input_shape} each (channels first); these have"
                f" {tuple(data.shape[1:])}."
            )
        return data.to(self.device)

    def features(self, data: Tensor | Rows, *, batch_size: int = 4096) -> Tensor:
        """Map prepared data to features (n, D) for use: in evaluation mode, without gradients, in parts."""
        as_count(batch_size, name="batch_size")
        modes = [(module, module.training) for module in self.modules()]  # a user may have frozen some
        self.eval()
        try:
            with torch.no_grad():
                parts = [self(data[start : start + batch_size]) for start in range(0, max(len(data), 1), batch_size)]
                return torch.cat(parts)
        finally:
            for module, mode in modes:
                module.training = mode

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """Describe the network as plain data that JSON can hold."""

    def _check_batch(self, batch: Tensor) -> None:
        if tuple(batch.shape[1:]) != self.input_shape:
            expected = ", ".join(str(size) for size in self.input_shape)
            raise InvalidInputError(
                f"A batch must have shape (n, {expected}); it has {tuple(batch.shape)}. Pass data through `prepare`."
            )
        if not isinstance(batch, Tensor) or batch.dtype != self.dtype:
            came = batch.dtype if isinstance(batch, Tensor) else type(batch).__name__
            raise InvalidInputError(
                f"A batch must be a tensor of {self.dtype}; it is {came}. Pass data through `prepare`."
            )


def prepare_input(X: object, *, images: bool, channels: str | None, dtype: torch.dtype) -> Tensor:
    """Read vectors or images into the type and layout of a network."""
    if images:
        return as_images(X, channels=channels, dtype=dtype)
    if channels is not None:
        raise InvalidInputError(f"channels={channels!r} is for images; X holds vectors (n, d). Leave it out.")
    return as_features(X, name="X", min_rows=1).to(dtype)


def normalize_features(Phi: Tensor, *, norm: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
    """Bring features to the scale the paper works at.

    From each feature vector its own mean over the D coordinates is subtracted; then all are divided by one
    number, the mean of their l2 norms, so that on average they have norm one.

    Parameters
    ----------
    Phi : Tensor (n, D)
        Features.
    norm : Tensor or float, optional
        The number to divide by; None for the mean norm of these features. At evaluation the paper uses the
        norm of the labeled training features.

    Returns
    -------
    Phi : Tensor (n, D)
        Normalised features; gradients flow through the mean norm as well.
    norm : Tensor ()
        The number divided by.

    Raises
    ------
    DivergedError
        Where features say nothing: not finite, or each vector constant.
    """
    if Phi.ndim != 2:
        raise InvalidInputError(f"Phi must be a matrix (n, D); it has shape {tuple(Phi.shape)}.")
    centred = Phi - Phi.mean(1, keepdim=True)
    if norm is None:
        divisor = torch.linalg.vector_norm(centred, dim=1).mean()
    else:
        divisor = torch.as_tensor(norm, dtype=Phi.dtype, device=Phi.device)
    if not bool(centred.detach().isfinite().all() & divisor.detach().isfinite()):
        raise DivergedError("The features are not finite. Lower the learning rate, or check the input and the network.")
    if not float(divisor.detach()) > 0:
        raise DivergedError(
            "Every feature vector is constant over its coordinates. Lower the learning rate, or check the input and the"
            " network."
        )
    return centred / divisor, divisor
