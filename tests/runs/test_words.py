from __future__ import annotations

import pytest
import typer.main

from tests.cli.conftest import ROLES, make_table
from tests.cli.conftest import xsdc as xsdc  # noqa: PLC0414  a fixture
from xsdc import validation
from xsdc.cli import app
from xsdc.errors import InvalidInputError
from xsdc.runs.words import option_words, typed, with_option


def test_every_word_is_an_option_of_some_command():
    commands = typer.main.get_command(app).commands.values()
    words = {word for command in commands for parameter in command.params for word in parameter.opts}
    assert set(option_words().values()) <= words | {"DATA"}


def test_options_are_said_as_they_are_typed():
    assert typed("image_size") == "--image-size"
    assert typed("n_trials") == "--trials"
    assert typed("a column") == "a column"
    assert (
        with_option("batch_size must be 1.", "batch_size")
        == "batch_size must be 1. On the command line it is --batch-size."
    )
    assert with_option("--batch-size must be 1.", "batch_size") == "--batch-size must be 1."
    assert with_option("`batch_size` is constant.", None) == "`batch_size` is constant."


def test_errors_carry_their_option():
    with pytest.raises(InvalidInputError) as raised:
        validation.as_count(0, name="batch_size")
    assert raised.value.option == "batch_size"


def test_columns_with_the_names_of_options_stay_as_they_are(xsdc, tmp_path):
    table = make_table()
    table["batch_size"], table["data.source"] = 1.0, table["colour"]
    table.to_csv(tmp_path / "a.csv", index=False)
    ended = xsdc("doctor", "a.csv", *ROLES)
    said = ended.out.replace("\n", " ")
    assert "batch_size: they say nothing" in said
    assert "`data.source`: its categories" in said
    assert "--batch-size" not in said
    ended = xsdc("fit", "a.csv", *ROLES, "--batch-size", 0)
    assert "On the command line it is --batch-size." in ended.err.replace("\n", " ")
