"""Printed bounds still hold, and say as much as their digits can."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparsefield._rounding import as_confidence, at_least, at_most
from sparsefield.certificates import Certificate, Concentration, dobrushin, hold_together, trivial_bias
from sparsefield.datasets import make_field
from sparsefield.fits import Fit, GradientStep, Status

BOUNDS = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
CONFIDENCES = st.floats(min_value=0, max_value=1)
MODEL = make_field(6, edge_probability=0.6, strength=(0.5, 0.6), seed=1)
NUMBER = r"(\d[\d.]*(?:e[+-]\d+)?)"


@given(BOUNDS, st.integers(1, 15))
@example(0.1, 3)
@example(0.9999, 3)
@example(5e-324, 3)
@example(1.7976931348623157e308, 3)
def test_an_upper_bound_is_rounded_up_and_by_no_more_than_its_digits(value, digits):
    read = float(at_most(value, digits))
    assert read >= value
    assert (read == 0) == (value == 0)
    # One unit of the last digit; below 1e-300 times that there are fewer digits.
    assert (
        read <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-15) or value < 10.0 ** (digits - 300) or read == math.inf
    )


@given(BOUNDS, st.integers(1, 15))
@example(0.1, 3)
@example(5e-324, 3)
def test_a_lower_bound_is_rounded_down_and_by_no_more_than_its_digits(value, digits):
    read = float(at_least(value, digits))
    assert read <= value
    assert read >= value / (1 + 10.0 ** (1 - digits)) * (1 - 1e-15) or value < 10.0 ** (digits - 300)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_bounds_of_either_sign_are_rounded_outwards(value):
    assert float(at_least(value)) <= value <= float(at_most(value))
    assert "-0" not in (at_least(value), at_most(value))


@given(CONFIDENCES)
@example(1 - 1e-9)
@example(np.nextafter(1.0, 0.0))
@example(0.99999)
def test_a_confidence_is_rounded_down_and_one_only_where_it_is_one(value):
    said = as_confidence(value)
    read = float(said)
    assert read <= value
    assert (said == "1") == (value == 1)
    if value >= 0.5:  # the risk has three digits, and the difference of two floats near 1 is right to 2^-53
        assert 1 - read <= (1 - value) * 1.01 + 2.0**-52


def test_what_people_write_is_printed_as_they_write_it():
    for said in ("0.1", "0.95", "0.99", "0.999999999", "0.5", "0.05"):
        assert as_confidence(float(said)) == said
        assert at_most(float(said), 9) == at_least(float(said), 9) == said
    assert [at_most(x) for x in (0.0, 0.12301, 3e-18, 14.9, 123456.0, math.inf)] == [
        *("0", "0.124", "3e-18", "14.9", "1.24e+05", "inf")
    ]
    assert at_most(0.99991, below=1) == "0.99991"
    assert float(at_most(np.nextafter(1.0, 0.0), below=1)) < 1
    assert at_most(1.0001, below=1) == "1.01"


@given(st.floats(1e-200, 10), st.floats(1e-200, 10), CONFIDENCES)
def test_sentences_of_certificates_print_bounds_that_hold(bias, error, confidence):
    said = str(replace(dobrushin(MODEL, 1), bias=bias, confidence=confidence))
    whole = Concentration("sharp", MODEL, bias, np.array([[error]]), 100, confidence)
    if confidence == 0:
        assert said == str(whole)
        assert said.startswith("Nothing is certified")
        return
    read = float(re.search(rf"(?:at most|certified:) {NUMBER}", said)[1])
    assert read >= bias
    sure, total, own, noise = re.fullmatch(
        rf"With confidence {NUMBER} .* at most {NUMBER}: bias {NUMBER}, .* chains {NUMBER}\.", str(whole)
    ).groups()
    assert float(sure) <= confidence
    assert float(total) >= whole.total
    assert float(own) >= bias
    assert float(noise) >= whole.simulation_error


@given(st.floats(0.501, 1, exclude_max=True), st.floats(1e-200, 3))
def test_the_sentence_of_a_fit_prints_bounds_that_hold(confidence, bias):
    info = GradientStep(
        iteration=1, certificate=bias, confidence=confidence, is_certified=True, n_nonzero=1, seconds=0.0,
        reason="as I like", step_map_norm=1.0, step_size=1.0,
    )  # fmt: skip
    said = Fit(MODEL, Status("converged", ""), (info,)).certified
    norm, sure = re.search(rf"norm {NUMBER} at most, with confidence {NUMBER} ", said).groups()
    assert float(norm) >= bias
    assert confidence >= float(sure) > 0.5
    assert sure != "1"


def test_a_radius_below_one_is_printed_below_one():
    weak = replace(dobrushin(MODEL, 0), find_radius=lambda: 0.99996)
    assert "radius 0.99996, so that the bound will fall" in str(weak)
    assert str(replace(weak, find_radius=None)).endswith("which always holds. Use more sweeps.")


def test_risks_add_up_as_people_write_them():
    assert hold_together([0.97] * 10) == 0.7
    assert hold_together([0.98, 0.97]) == 0.95
    assert hold_together([0.5, 0.4]) == 0
    assert hold_together([1.0, 1.0]) == 1


def test_the_trivial_bound_is_that_of_certificates():
    assert dobrushin(MODEL, 0).bias == pytest.approx(trivial_bias(MODEL.domain))
    assert Certificate.exact(MODEL).condition == ""
