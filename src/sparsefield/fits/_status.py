"""How a fit ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal[
    "converged",
    "simulation_error",
    "not_certified",
    "step_too_long",
    "max_iter",
    "max_seconds",
    "interrupted",
    "stalled",
]


@dataclass(frozen=True)
class Status:
    """How a fit ended.

    Parameters
    ----------
    code : str
        One of a few words, for programs: "converged", "simulation_error", "not_certified", "step_too_long", "max_iter",
        "stalled", "max_seconds" or "interrupted".
    sentence : str
        What happened and what would help, for people.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(5, seed=1).sample(400, method="perfect", seed=1)
    >>> status = sf.learn(table, 0.1).status
    >>> status.code, status.is_serious
    ('converged', False)
    >>> str(status).split(":")[0]
    'Converged in 1 iteration'
    """

    code: Code
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    @property
    def is_serious(self) -> bool:
        """Whether users should be warned, whatever else is known of the fit; `Fit.is_serious` knows more."""
        return self.code in ("step_too_long", "not_certified", "max_iter", "stalled")
