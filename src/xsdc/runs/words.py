"""Options in the words of the command line."""

from __future__ import annotations

import re
from dataclasses import fields

from xsdc.runs.configuration import DataOptions


def in_words(message: str) -> str:
    """Say options as they are typed: --image-size for image_size.

    Names of one word, like ridge, are left: they are words of their own.
    """
    names = [field.name for field in fields(DataOptions)]
    names += ["n_clusters", "cluster_size", "max_iter", "supervised_iter", "batch_size", "labeled_batch_size"]
    names += ["learning_rate", "supervised_learning_rate", "filter_penalty", "evaluate_every"]
    names += ["memory_size", "piece_size", "n_landmarks"]
    names.append("n_trials")
    long = sorted((name for name in names if "_" in name), key=len, reverse=True)
    said = re.sub(rf"(?<![\w-])({'|'.join(long)})(?!\w)", lambda m: "--" + m[1].replace("_", "-"), message)
    return said.replace("another study_name", "another --out")
