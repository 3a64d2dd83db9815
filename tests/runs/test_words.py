from __future__ import annotations

import pytest
import typer.main

from xsdc.cli import app
from xsdc.runs.words import in_words, option_words


def test_every_word_is_an_option_of_some_command():
    commands = typer.main.get_command(app).commands.values()
    typed = {word for command in commands for parameter in command.params for word in parameter.opts}
    assert set(option_words().values()) <= typed


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("image_size must be even.", "--image-size must be even."),
        ("`labeled_batch_size` and batch_size", "`--labeled-batch-size` and --batch-size"),
        ("n_trials must be 1 or more", "--trials must be 1 or more"),
        ("begun with data.must_link = 'a', not None", "begun with --must-link = 'a', not None"),
        ("begun with options.ridge = 1, not 2", "begun with --ridge = 1, not 2"),
        ("begun with data.source = 'a', not 'b'", "begun with DATA = 'a', not 'b'"),
        ("the ridge of the source", "the ridge of the source"),
        ("my_batch_size, batch_sizes and --batch_size", "my_batch_size, batch_sizes and --batch_size"),
        ("a supervised_learning_rate", "a --supervised-learning-rate"),
        ("Give another study_name or storage.", "Give another --out or storage."),
    ],
)
def test_options_are_said_as_they_are_typed(message, said):
    assert in_words(message) == said
