import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Do not let pictures of one test pile up for the next."""
    yield
    plt.close("all")
