"""Many processes on torch.distributed: each computes the features of its share of a batch, all take the same step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]  # public, but not listed

from xsdc.errors import InvalidInputError
from xsdc.networks import Network
from xsdc.training.pieces import features_in_pieces

T = TypeVar("T")
# Long, for the others wait while the first labels everybody; a process that dies is noticed by torchrun at once.
PATIENCE = timedelta(hours=4)


@dataclass(frozen=True)
class Processes:
    """The processes that take part in a training.

    Attributes
    ----------
    rank : int
        Number of this one, from 0.
    count : int
        How many there are.
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def here(cls) -> Processes:
        """Those of the default process group; one where there is no group."""
        if not (dist.is_available() and dist.is_initialized()):
            return cls()
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def first(self) -> bool:
        """Whether this is the one that decides and writes."""
        return self.rank == 0

    def agree(self, decide: Callable[[], T]) -> T:
        """Let the first process decide and tell the others; an error of its is raised by all."""
        if self.count == 1:
            return decide()
        told: list[Any] = [None, None]
        if self.first:
            try:
                told[0] = decide()
            except Exception as error:  # noqa: BLE001  the others wait for an answer, and this is one
                told[1] = error
        came = list(told)
        dist.broadcast_object_list(came, src=0)
        value, failure = told if self.first else came
        if failure is not None:
            raise failure
        return value  # type: ignore[no-any-return]

    def each(self, work: Callable[[], T]) -> T:
        """Let every process do its own; where one fails, all raise what it met."""
        if self.count == 1:
            return work()
        mine: list[Any] = [None, None]
        try:
            mine[0] = work()
        except Exception as error:  # noqa: BLE001  the others wait to hear how it went
            mine[1] = error
        failures: list[Any] = [None] * self.count
        dist.all_gather_object(failures, mine[1])
        if failures[0] is not None:
            raise mine[1] or failures[0]
        for rank, failure in enumerate(failures):
            if failure is not None:
                raise InvalidInputError(f"Process {rank} has failed: {failure}") from failure
        return mine[0]  # type: ignore[no-any-return]

    def copy_from_first(self, tensor: Tensor) -> Tensor:
        """Return the tensor of the first process; all have the same shape."""
        if self.count > 1:
            tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
            dist.broadcast(tensor, src=0)
        return tensor

    def copy_module(self, module: nn.Module) -> None:
        """Make the parameters and buffers of a module those of the first process."""
        if self.count == 1:
            return
        for tensor in module.state_dict().values():
            tensor.copy_(self.copy_from_first(tensor))

    def require_same(self, what: str) -> None:
        """Raise in all processes where a text is not the same in all of them."""
        if self.count == 1:
            return
        texts: list[Any] = [None] * self.count
        dist.all_gather_object(texts, what)
        strange = [rank for rank, text in enumerate(texts) if text != texts[0]]
        if strange:
            raise InvalidInputError(
                f"Process {strange[0]} was given other data, options or seed than process 0. Give all the same."
            )

    def share(self, n: int) -> Tensor:
        """Rows of n that this process computes; all get as many, for which the last row may be repeated."""
        length = -(-n // self.count)
        return (torch.arange(length) + self.rank * length).clamp(max=n - 1)


class SharedFeatures:
    """Features of the parts of a batch, each process computing its share of each part.

    Every process then has the features of all rows, its own with a gradient, and computes the same objective from
    them. Its gradient for its own rows is therefore complete without another word, and the sum over processes of what
    that gives for the parameters is the gradient of one process that computes the whole batch.

    `DistributedDataParallel` would take the mean instead, warn of how gradients of kernel layers lie in memory, and
    refuse modules with parameters that take no part; there are too few parameters for its overlapping to matter.

    Parameters
    ----------
    network : Network
        The same in all processes.
    processes : Processes
        Who takes part.
    piece_size : int, optional
        Rows that a process sends through the network at a time; by default all of its share.
    """

    def __init__(self, network: Network, processes: Processes, *, piece_size: int | None = None) -> None:
        self.network, self.processes, self.piece_size = network, processes, piece_size

    def __call__(self, inputs: Sequence[Callable[[Tensor], Tensor]], sizes: Sequence[int]) -> list[Tensor]:
        """Compute features.

        Parameters
        ----------
        inputs : sequence of callables
            For each part, rows to inputs of the network.
        sizes : sequence of int
            Rows of each part, 1 or more.

        Returns
        -------
        list of Tensor, shape (size, D)
        """
        parts = [
            features_in_pieces(self.network, take(self.processes.share(n)), self.piece_size)
            for take, n in zip(inputs, sizes, strict=True)
        ]
        if self.processes.count == 1:
            return parts
        gathered = [torch.split(each, [len(part) for part in parts]) for each in self._gather(torch.cat(parts))]
        return [torch.cat(each)[:n] for each, n in zip(zip(*gathered, strict=True), sizes, strict=True)]

    def _gather(self, own: Tensor) -> list[Tensor]:
        """Gather the rows of all processes, those of this one with their gradient."""
        rows = [torch.empty_like(own) for _ in range(self.processes.count)]
        dist.all_gather(rows, own.detach().contiguous())
        rows[self.processes.rank] = own
        return rows

    def add_gradients(self) -> None:
        """Add up the gradients of all processes, each of which has seen its own rows."""
        if self.processes.count == 1:
            return
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        together = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(together)
        for gradient, total in zip(gradients, torch.split(together, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(total.view(gradient.shape))


@contextmanager
def joined(device: str = "cpu") -> Iterator[Processes]:
    """Join the processes that torchrun has started, and leave them; alone where it has started none.

    Parameters
    ----------
    device : str
        Where to compute: of several GPUs each process of a machine takes its own.
    """
    if not dist.is_available() or not dist.is_torchelastic_launched() or dist.is_initialized():
        yield Processes.here()
        return
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    store, rank, count = next(rendezvous("env://", timeout=PATIENCE))
    # The store of torchrun outlives its workers: under the same names, new ones would find the addresses of the dead.
    store = PrefixStore(f"start {_starts()}", store)
    dist.init_process_group("nccl" if on_gpu else "gloo", store=store, rank=rank, world_size=count, timeout=PATIENCE)
    try:
        yield Processes.here()
    finally:
        dist.destroy_process_group()


def restarted() -> bool:
    """Whether torchrun has started this process in place of one that failed."""
    return _starts() > 0


def _starts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
