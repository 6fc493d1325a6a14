"""The glossary's entries in Markdown's own form, which Jupyter Book 2 reads too: ``: meaning``."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.std import Glossary

_MEANING = ": "


class PortableGlossary(Glossary):
    """Sphinx's glossary, which takes what is indented for the meaning of the lines above it."""

    def run(self) -> list[nodes.Node]:
        """Read the entries.

        Returns:
            The glossary.
        """
        indented = [
            line.replace(_MEANING, " " * len(_MEANING), 1) if line.startswith(_MEANING) else line
            for line in self.content
        ]
        self.content = StringList(indented, items=self.content.items)
        return super().run()


def setup(app: Sphinx) -> None:
    """Put the directive in the place of Sphinx's.

    Args:
        app: The Sphinx application.
    """
    app.add_directive_to_domain("std", "glossary", PortableGlossary, override=True)
