"""Settings for all tests."""

from __future__ import annotations

import torch

# The problems are small: a second thread costs more than it brings, most of all on a busy machine.
torch.set_num_threads(1)
