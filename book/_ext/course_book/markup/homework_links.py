"""A homework's id, such as ``hw03-self-attention``, is a link to its notebook where it stands."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_HOMEWORK = re.compile(r"hw\d\d-[\w-]+")


class LinkHomework(SphinxTransform):
    """Makes each id a download, if the homework has been released."""

    default_priority = 600

    def apply(self, **kwargs: Any) -> None:
        """Link the ids of a page."""
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext()
            if not _HOMEWORK.fullmatch(name) or isinstance(literal.parent, nodes.reference):
                continue
            notebook = f"assignments/{name}/{name}.ipynb"
            if (Path(self.env.srcdir) / notebook).is_file():
                link = addnodes.download_reference("", "", reftarget=f"/{notebook}")
                literal.replace_self(link)
                link += literal


def setup(app: Sphinx) -> None:
    """Register the transform.

    Args:
        app: The Sphinx application.
    """
    app.add_transform(LinkHomework)
