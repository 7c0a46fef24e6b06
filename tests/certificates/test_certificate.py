"""What every certificate says, keeps and refuses."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from sparsefield._rounding import at_most
from sparsefield.certificates import Certificate, Disagreement, coalescence, concentration, dobrushin, fischer
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Gibbs
from support import exact_chains
from support.zoo import BINARY, LEVELS


def test_confidences_add_up():
    model = make_field(5, seed=1)
    bias = coalescence(model, 20, 1000, seed=1, confidence=0.97)
    moments = Gibbs(500, 20, seed=2).moments(model)
    assert concentration(model, moments, bias, confidence=0.98).confidence == pytest.approx(0.95)
    run = bias.for_run(10)
    assert run.confidence == pytest.approx(0.7)
    assert run.scope == "run"
    assert bias.scope == "iteration"
    assert "with confidence 0.7 for the whole run" in str(run)
    assert dobrushin(model, 3).for_run(1000).confidence == 1
    assert bias.for_run(100).confidence == 0
    assert str(bias.for_run(100)).startswith("Nothing is certified: the risks of all the bounds")
    with pytest.raises(ValueError, match="n_certificates is 0"):
        bias.for_run(0)


def test_certificates_say_what_they_certify():
    weak, strong = make_field(10, strength=(0.5, 1.0), seed=1), make_field(10, strength=(3.0, 4.0), seed=1)
    good = dobrushin(weak, 5)
    about = "(L2 norm over 55 statistics, sharp bound)"
    assert str(good) == f"After 5 sweeps the bias of the gradient is at most {at_most(good.bias)} {about}."
    early = dobrushin(weak, 0)
    assert early.is_vacuous
    assert "nothing is certified" in str(early)
    assert "Use more sweeps" in str(early)
    hopeless = dobrushin(strong, 30, kind="paper")
    assert hopeless.is_vacuous
    assert f"radius {at_most(hopeless.radius)}, not below 1" in str(hopeless)
    assert "coalescence()" in str(hopeless)
    assert "for comparison" in str(fischer(strong, 3))
    assert "with confidence 0.95 at most" in str(coalescence(weak, 20, 1000, seed=1))
    assert "more chains" in str(coalescence(strong, 0, 1000, seed=1))


def test_certificates_do_not_change():
    certificate = dobrushin(make_field(5, seed=1), 3)
    assert isinstance(certificate, Certificate)
    with pytest.raises(AttributeError):
        certificate.bias = 0.0
    for array in (certificate.main, certificate.pair):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert certificate.bias == pytest.approx(exact_chains.norm(certificate.pair))
    np.testing.assert_array_equal(certificate.main, np.diagonal(certificate.pair))


def test_a_certificate_speaks_of_the_time_it_was_made():
    # What is found when it is asked for must not follow the disagreement that goes on.
    far = Disagreement(make_field(6, strength=(0.5, 1.0), seed=1))
    far.sweep(2)
    early, known = far.certificate(), far.values
    far.sweep(5)
    far.move(make_field(6, strength=(0.1, 0.2), seed=2))
    np.testing.assert_array_equal(early.main, known)
    assert early.radius == Disagreement(make_field(6, strength=(0.5, 1.0), seed=1)).radius
    assert early.n_sweeps == 2


def test_certificates_can_be_sent_to_other_processes():
    model = make_field(5, strength=(0.5, 1.0), seed=1)
    for own in (dobrushin(model, 3), coalescence(model, 3, 100, seed=1), fischer(model, 3), Certificate.exact(model)):
        again = pickle.loads(pickle.dumps(own))
        assert str(again) == str(own)
        np.testing.assert_array_equal(again.pair, own.pair)


def test_exact_moments_and_whole_errors_have_sentences_of_their_own():
    model = make_field(5, strength=(0.5, 1.0), seed=1)
    assert str(Certificate.exact(model)).startswith("The gradient has no bias")
    assert Certificate.exact(model).total == 0
    whole = replace(dobrushin(model, 5), simulation_error=0.25, confidence=0.9)
    assert "the error of the gradient is with confidence 0.9 at most" in str(whole)
    assert "simulation error 0.25" in str(whole)


def test_bad_requests_are_refused():
    model = make_field(5, seed=1)
    for function in (dobrushin, fischer, lambda m, n: coalescence(m, n, seed=1)):
        with pytest.raises(ValueError, match="n_sweeps is -1"):
            function(model, -1)
    with pytest.raises(ValueError, match=r"Variable 'v0' has 3 levels.*two levels so far"):
        fischer(LEVELS["three levels"], 1)
    with pytest.raises(ValueError, match="kind is 'best'"):
        dobrushin(model, 1, kind="best")
    with pytest.raises(ValueError, match="start is 'cold'"):
        Disagreement(model, start="cold")
    with pytest.raises(ValueError, match="each of the variables 0 to 4 once"):
        dobrushin(model, 1, order=[0, 1])
    for confidence in (0, 1, 95):
        with pytest.raises(ValueError, match=f"confidence is {confidence}"):
            coalescence(model, 1, seed=1, confidence=confidence)
    moments = Chains(model.domain, 100, seed=1).moments()
    with pytest.raises(ValueError, match="about another model"):
        concentration(model, moments, dobrushin(make_field(5, seed=2), 3))
    with pytest.raises(ValueError, match="for a whole run already"):
        dobrushin(model, 3).for_run(2).for_run(2)
    for function in (dobrushin, fischer, lambda m, n: coalescence(m, n, seed=1)):
        with pytest.raises(ValueError, match=r"n_sweeps is 2\.5"):
            function(model, 2.5)
    with pytest.raises(ValueError, match=r"n_chains is 1000\.0"):
        coalescence(model, 1, 1e3, seed=1)
    assert dobrushin(BINARY["a constant, no reference"], 0).is_vacuous
    with pytest.raises(ValueError, match="two or more chains"):
        concentration(model, model.moments())
    with pytest.raises(ValueError, match="of 5 main statistics, but the model has 6"):
        concentration(make_field(6, seed=1), moments)
    with pytest.raises(ValueError, match="kind is 'best'"):
        concentration(model, moments, kind="best")
