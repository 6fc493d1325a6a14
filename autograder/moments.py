"""Times that somebody else has written down."""

from datetime import datetime

_YEARS = range(1990, 2100)  # a zip that knows no time says 1980


def plausible(moment: datetime) -> bool:
    """Say whether something can have been handed in then, and the time be reckoned with."""
    return moment.year in _YEARS
