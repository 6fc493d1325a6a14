"""Exercises and solutions without the ids that sphinx-exercise gives to all of them alike."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

REPEATED = {"exercise-content", "solution-content"}


class DropRepeatedIds(SphinxPostTransform):
    """Leave an id to one element of a page."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        """Take the repeated ids off."""
        for section in self.document.findall(nodes.section):
            section["ids"] = [name for name in section["ids"] if name not in REPEATED]


def setup(app: Sphinx) -> None:
    """Register the transform.

    Args:
        app: The Sphinx application.
    """
    app.add_post_transform(DropRepeatedIds)
