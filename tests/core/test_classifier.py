from __future__ import annotations

import math

import pytest
import torch

from tests.problems import blobs, gaussian, generator
from xsdc.core.classifier import LARGEST_SHARPNESS, PATH, Classifier, choose_ridge, fit_classifier, fit_sharpness
from xsdc.core.objective import decompose, one_hot, ridge_classifier


def drawn_classes(scores: torch.Tensor, sharpness: float, *, seed: int = 99) -> torch.Tensor:
    """Classes that follow the softmax of scores times a sharpness."""
    return torch.multinomial(torch.softmax(sharpness * scores, 1), 1, generator=generator(seed)).flatten()


def left_out_errors(X: torch.Tensor, Y: torch.Tensor, lam: float) -> torch.Tensor:
    """Squared error at each point of a classifier fitted anew to the others."""
    n = len(X)
    errors = []
    for i in range(n):
        others = torch.arange(n) != i
        W, b = ridge_classifier(X[others], Y[others], lam * n / (n - 1))
        errors.append((X[i] @ W + b - Y[i]).square().mean())
    return torch.stack(errors)


def test_a_classifier_is_the_ridge_of_its_labels():
    X, y = blobs(60, 3)
    classifier = fit_classifier(decompose(X), y, n_classes=3, lam=0.01)
    W, b = ridge_classifier(X, one_hot(y), 0.01)
    torch.testing.assert_close(classifier.W, W)
    torch.testing.assert_close(classifier.b, b)
    assert classifier.lam == 0.01
    torch.testing.assert_close(classifier.scores(X), X @ W + b)


def test_new_points_of_blobs_are_classified():
    X, y = blobs(400, 4)
    classifier = fit_classifier(decompose(X[:40]), y[:40], n_classes=4)
    assert torch.equal(classifier.scores(X[40:]).argmax(1), y[40:])
    assert classifier.lam in PATH


def test_a_class_without_points_scores_zero():
    X, y = blobs(30, 2)
    scores = fit_classifier(decompose(X), y * 2, n_classes=4, lam=0.1).scores(X)
    assert scores.shape == (30, 4)
    torch.testing.assert_close(scores[:, [1, 3]], torch.zeros(30, 2, dtype=torch.float64))
    assert set(scores.argmax(1).tolist()) == {0, 2}


def test_features_of_another_precision_are_scored_alike():
    X, y = blobs(30, 3)
    classifier = fit_classifier(decompose(X), y, n_classes=3)
    scores = classifier.scores(X.to(torch.float32))
    assert scores.dtype == torch.float64
    torch.testing.assert_close(scores, classifier.scores(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_the_ridge_has_the_least_error_on_points_left_out(noise):
    X = gaussian(12, 4)
    Y = X[:, :2] + noise * gaussian(12, 2, seed=1)
    errors = torch.stack([left_out_errors(X, Y, lam) for lam in PATH])  # (path, points)
    spectrum = decompose(X)
    assert choose_ridge(spectrum, Y) == PATH[int(errors.mean(1).argmin())]
    rows = torch.tensor([1, 5, 7])
    assert choose_ridge(spectrum, Y, rows=rows) == PATH[int(errors[:, rows].mean(1).argmin())]
    assert choose_ridge(spectrum, Y, rows=rows) != choose_ridge(spectrum, Y)  # or the rows would not be tested


def test_more_noise_wants_a_larger_ridge():
    X = gaussian(60, 30)
    signal = X[:, :2]
    clear, noisy = (choose_ridge(decompose(X), signal + c * gaussian(60, 2, seed=1)) for c in (0.01, 5.0))
    assert clear < noisy


def test_probabilities_by_hand():
    classifier = Classifier(torch.tensor([[2.0, 0.0]]), torch.tensor([0.0, 1.0]), 0.1, sharpness=3.0)
    p = classifier.log_probabilities(torch.tensor([[0.5], [0.0]])).exp()
    assert p[0].tolist() == pytest.approx([0.5, 0.5])
    assert p[1].tolist() == pytest.approx([1 / (1 + math.exp(3)), 1 / (1 + math.exp(-3))])


@pytest.mark.parametrize("sharpness", [1e-3, 1.0, LARGEST_SHARPNESS])
def test_probabilities_sum_to_one_and_rank_as_the_scores(sharpness):
    X, y = blobs(60, 4)
    fitted = fit_classifier(decompose(X), y, n_classes=4)
    classifier = Classifier(fitted.W, fitted.b, fitted.lam, sharpness)
    far = torch.cat([X, 100 * gaussian(20, 5, seed=3)])
    p = classifier.log_probabilities(far).exp()
    assert bool(((p >= 0) & (p <= 1)).all())
    torch.testing.assert_close(p.sum(1), torch.ones(80, dtype=torch.float64))
    assert torch.equal(p.argmax(1), classifier.scores(far).argmax(1))


def test_calibration_changes_only_the_sharpness():
    X, y = blobs(60, 3)
    plain = fit_classifier(decompose(X), y, n_classes=3)
    scores = 0.3 * gaussian(500, 3)
    codes = drawn_classes(scores, 4.0)
    calibrated = plain.calibrated(scores, codes)
    assert calibrated.sharpness == fit_sharpness(scores, codes) != plain.sharpness
    assert plain.sharpness == 1.0
    assert (calibrated.W is plain.W, calibrated.b is plain.b, calibrated.lam) == (True, True, plain.lam)


@pytest.mark.parametrize("truth", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("k", [2, 5])
def test_the_sharpness_that_classes_were_drawn_with_is_recovered(truth, k):
    scores = gaussian(20_000, k) / truth
    assert fit_sharpness(scores, drawn_classes(scores, truth)) == pytest.approx(truth, rel=0.06)


def test_the_sharpness_is_the_best_of_a_grid():
    scores = gaussian(40, 3)
    codes = drawn_classes(scores, 1.5)
    found = fit_sharpness(scores, codes)

    def loss(sharpness: float) -> float:
        p = torch.softmax(sharpness * scores, 1)
        target = (40 * one_hot(codes, n_classes=3) + 1 / 3) / 41  # one answer in 41 is anything
        return float(-(target * p.log()).sum(1).mean())

    grid = torch.logspace(-3, 2, 2001).tolist()
    assert found == pytest.approx(min(grid, key=loss), rel=0.01)


def test_sharpness_is_in_units_of_the_scores_and_ignores_what_classes_share():
    scores = gaussian(300, 4)
    codes = drawn_classes(scores, 2.0)
    plain = fit_sharpness(scores, codes)
    assert fit_sharpness(4 * scores, codes) == pytest.approx(plain / 4, rel=1e-3)
    assert fit_sharpness(scores + 10 * gaussian(300, 1, seed=4), codes) == pytest.approx(plain, rel=1e-3)
    assert fit_sharpness(scores.to(torch.float32), codes) == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize(("n", "k"), [(10, 2), (50, 3), (2000, 10)])
def test_perfect_scores_leave_as_much_doubt_as_one_answer_more(n, k):
    codes = torch.arange(n) % k
    # The likeliest softmax gives n / (n + 1) to the truth, and 1 / (n + 1) to all k alike.
    assert fit_sharpness(one_hot(codes), codes) == pytest.approx(math.log(1 + n * k), rel=1e-3)


def test_scores_that_say_nothing_make_no_trouble():
    codes = torch.arange(30) % 3
    for constant in (0.0, 1 / 3, -1e6):
        sharpness = fit_sharpness(torch.full((30, 3), constant), codes)
        assert 0 < sharpness <= LARGEST_SHARPNESS
    wrong = fit_sharpness(one_hot((codes + 1) % 3), codes)
    assert 0 < wrong < 0.01  # as good as uniform


def test_sharpness_has_a_limit():
    codes = torch.arange(30) % 3
    assert fit_sharpness(1e-6 * one_hot(codes), codes) == pytest.approx(LARGEST_SHARPNESS, rel=0.05)
    assert fit_sharpness(1e-6 * one_hot(codes), codes) <= LARGEST_SHARPNESS
