"""How sure the edges of a network are, in the sentences that the page and the program share."""

from __future__ import annotations

from sparsefield.network._network import Network
from sparsefield.pairs import Inference


def describe_inference(network: Network) -> str:
    """Say how many pairs are edges at the rate, how many of them are false, and which of the network's they are."""
    inference = network.inference
    if inference is None or not network.n_pairs:
        return ""
    n, pairs = inference.n_edges, _count(len(inference.pairs), "pair")
    at = f"at a false discovery rate of {inference.fdr:g}"
    if inference.rate == "holm":
        at = f"with a probability of at most {inference.fdr:g} that any is false"
    are = f"none of {pairs} is an edge" if not n else f"{n:,} of {pairs} {'is an edge' if n == 1 else 'are edges'}"
    said = [f"Sampling error: {are} {at}{_count_false(inference)}.", _compare_edges(network)]
    if n_untold := int((~inference.is_told).sum()):
        said.append(f"Of {_count(n_untold, 'pair')} these rows can tell nothing.")
    return " ".join(filter(None, said))


def _count_false(inference: Inference) -> str:
    """Say how many of the edges are expected to be false, where that is what was asked for."""
    if not inference.n_edges or inference.rate == "holm":
        return ""
    false = inference.fdr * inference.n_edges
    some = f"about {false:,.0f} of these at most are"
    if false < 1.5:
        some = "at most one of these is" if false <= 1 else "about one of these at most is"
    return f", and {some} expected to be false"


def _compare_edges(network: Network) -> str:
    """Say how many edges of the network are edges at the rate of the inference."""
    n, n_sure = network.n_edges, network.n_sure
    if not n:
        return ""
    if n_sure == n:
        return (
            "The edge of the network is one of them." if n == 1 else f"All {n:,} edges of the network are among them."
        )
    if not n_sure:
        return "The edge of the network is none." if n == 1 else f"None of the {n:,} edges of the network is."
    n_other = n - n_sure
    others = "the other one" if n_other == 1 else f"the other {n_other:,}"
    are = "is" if n_sure == 1 else "are"
    return f"Of the {n:,} edges of the network, {n_sure:,} {are} among them; {others} may be due to sampling error."


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
