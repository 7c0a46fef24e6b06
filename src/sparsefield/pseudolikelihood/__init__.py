"""The pseudo-likelihood: its losses, its solvers, and regressions of nodes on their neighbours."""

from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss, PairNeighbours
from sparsefield.pseudolikelihood._imputed import FILLING, Filling, FillPolicy, solve_filled_pseudo_likelihood
from sparsefield.pseudolikelihood._loss import PseudoLikelihoodLoss, pseudo_log_likelihoods
from sparsefield.pseudolikelihood._nodewise import NodeRefits
from sparsefield.pseudolikelihood._policy import PSEUDO, REFITS, PseudoPolicy, RefitPolicy
from sparsefield.pseudolikelihood._solve import solve_pseudo_likelihood

__all__ = [
    "FILLING",
    "PSEUDO",
    "REFITS",
    "BinaryPairLoss",
    "FillPolicy",
    "Filling",
    "NodeRefits",
    "PairNeighbours",
    "PseudoLikelihoodLoss",
    "PseudoPolicy",
    "RefitPolicy",
    "pseudo_log_likelihoods",
    "solve_filled_pseudo_likelihood",
    "solve_pseudo_likelihood",
]
