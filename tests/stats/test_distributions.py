"""Distribution functions against SciPy's."""

import numpy as np
import pytest
from scipy import special

from uiproof.stats.distributions import beta_cdf, beta_quantile, noncentral_t_cdf, t_quantile


@pytest.mark.parametrize("p", [0.005, 0.025, 0.5, 0.975, 0.995])
def test_beta_quantiles_are_those_of_scipy(p):
    for a in (0.02, 0.5, 1, 7.3, 150, 40_000):
        for b in (0.5, 1.02, 33.1, 2_500, 100_000):
            found = beta_quantile(a, b, p)
            assert found == pytest.approx(special.betaincinv(a, b, p), rel=1e-10)
            assert beta_cdf(a, b, found) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("p", [0.75, 0.95, 0.975, 0.995])
def test_quantiles_of_t_are_those_of_scipy(p):
    for degrees in (1, 1.7, 5, 29, 483, 100_000):
        assert t_quantile(degrees, p) == pytest.approx(special.stdtrit(degrees, p), rel=1e-10)


def test_the_noncentral_t_distribution_is_that_of_scipy():
    for degrees in (1, 2, 9, 120, 5_000):
        for shift in np.linspace(0, 8, 9):
            found = noncentral_t_cdf(degrees, shift, 2.1)
            assert found == pytest.approx(special.nctdtr(degrees, shift, 2.1), abs=1e-9)
