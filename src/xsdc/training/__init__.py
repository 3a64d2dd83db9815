"""Training the representation and the grouping together: batches, one step, the loop, its observers."""

from xsdc.training.batches import Batch, Batches
from xsdc.training.callbacks import Callback, Progress
from xsdc.training.checkpoints import Checkpoints
from xsdc.training.loop import Plan, Trainer
from xsdc.training.memory import Memory
from xsdc.training.processes import Processes
from xsdc.training.step import batch_objective

__all__ = [
    "Batch",
    "Batches",
    "Callback",
    "Checkpoints",
    "Memory",
    "Plan",
    "Processes",
    "Progress",
    "Trainer",
    "batch_objective",
]
