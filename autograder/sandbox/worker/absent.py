"""Lies in the place of every package that students do not have: importing it says so."""

raise ModuleNotFoundError(
    f"No module named {__name__!r}: a homework is graded with what its requirements.txt installs",
    name=__name__,
)
