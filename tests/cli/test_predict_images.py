"""Predictions for images of more than 8 bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
from PIL import Image

from tests.cli.conftest import QUICK
from tests.cli.test_predict import write_images


def test_images_of_16_bits_have_the_scale_of_the_fit(xsdc, tmp_path):
    """An image gets the same class alone as among those of the fit, and what is beyond their range is told of."""
    write_images(tmp_path / "photos")
    for path in (tmp_path / "photos").rglob("*.png"):
        counts = np.asarray(Image.open(path).convert("L")).astype(np.uint16) * 3
        Image.fromarray(counts).save(path.with_suffix(".tif"))
        path.unlink()
    assert xsdc("fit", "photos", "--out", "run", *QUICK).code == 0
    assert xsdc("predict", "run", "photos", "--out", "all.csv").code == 0
    for number, factor in (("04", 1), ("07", 2)):
        folder = tmp_path / f"one{number}"
        folder.mkdir()
        counts = np.asarray(Image.open(tmp_path / "photos" / str(int(number) % 2) / f"{number}.tif"))
        Image.fromarray(counts * np.uint16(factor)).save(folder / f"{number}.tif")
    ended = xsdc("predict", "run", "one04", "--out", "one.csv")
    assert "beyond" not in ended.out + ended.err
    together, alone = pd.read_csv("all.csv"), pd.read_csv("one.csv")
    expected = together[together["id"] == "0/04.tif"]
    assert alone["label"].tolist() == expected["label"].tolist()
    np.testing.assert_allclose(alone["probability"], expected["probability"], atol=1e-5)
    ended = xsdc("predict", "run", "one07", "--out", "two.csv")
    assert "1 image(s) of more than 8 bits go beyond the range of the fit" in " ".join((ended.out + ended.err).split())
