"""Features of a large batch in the memory of a small one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from xsdc.networks import Network


def features_in_pieces(network: Network, inputs: Tensor, size: int | None) -> Tensor:
    """Map inputs to features, so many at a time; the gradient is that of all at once.

    What the layers of a network keep for the gradient is forgotten after each piece and computed again, piece by
    piece, on the way back: one more pass through the network for the memory of one piece. M, the objective and the
    step are those of the whole batch.

    Parameters
    ----------
    network : Network
        A layer that looks at a whole batch, such as batch normalisation, sees a piece.
    inputs : Tensor of shape (n, ...)
        Prepared inputs.
    size : int or None
        Most rows of a piece; None for all at once.

    Returns
    -------
    Tensor of shape (n, D)
    """
    if size is None or len(inputs) <= size:
        features: Tensor = network(inputs)
        return features
    # Of like size, for a last piece of one row would be too small for some networks. The first call takes a few
    # seconds, in which torch imports its compiler.
    pieces = torch.tensor_split(inputs, -(-len(inputs) // size))
    return torch.cat([checkpoint(network, piece, use_reentrant=False) for piece in pieces])
