"""The glossary's entries in Markdown's own form, which Jupyter Book 2 reads too: ``: meaning``.

A row of letters above them leads to the first word with each.
"""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.std import Glossary

_MEANING = ": "


class PortableGlossary(Glossary):
    """Sphinx's glossary, which takes what is indented for the meaning of the lines above it."""

    content: StringList

    def run(self) -> list[nodes.Node]:
        """Read the entries.

        Returns:
            The row of letters, then the glossary.
        """
        indented = [
            line.replace(_MEANING, " " * len(_MEANING), 1) if line.startswith(_MEANING) else line
            for line in self.content
        ]
        self.content = StringList(indented, items=self.content.items)
        entries = super().run()
        return [_letters(entries), *entries]


def _letters(entries: list[nodes.Node]) -> nodes.Node:
    """Return links to the first word of each letter, in the order of the words."""
    firsts: dict[str, nodes.term] = {}
    for term in (term for entry in entries for term in entry.findall(nodes.term)):
        firsts.setdefault(term.astext()[0].upper(), term)
    row = nodes.paragraph(classes=["course-letters"])
    for letter, term in firsts.items():
        link = nodes.reference("", letter, internal=True, refid=term["ids"][0])
        row += [link, nodes.Text(" ")]
    return row


def setup(app: Sphinx) -> None:
    """Put the directive in the place of Sphinx's.

    Args:
        app: The Sphinx application.
    """
    app.add_directive_to_domain("std", "glossary", PortableGlossary, override=True)
