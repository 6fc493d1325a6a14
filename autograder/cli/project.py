"""Where the project is whose homework the commands work on."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The folder that holds ``solutions``."""
