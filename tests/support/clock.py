"""A clock that tests set: what ends when the time is up ends at the same place on every machine."""


class Clock:
    """Time, by `time.perf_counter`, that stands still unless it is told to go on.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
        What puts the true clock back when the test is over.
    """

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def advance(self, seconds):
        """Let time pass."""
        self.now += seconds
