"""The glossary with entries in Markdown's form, ``: meaning``, which Jupyter Book 2 reads too.

Letters above the entries link to the first term with each.
"""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.std import Glossary

_MEANING = ": "


class PortableGlossary(Glossary):
    """Sphinx's directive ``glossary``, for entries whose meanings begin with a colon."""

    content: StringList

    def run(self) -> list[nodes.Node]:
        """Return a paragraph of letters that link to the terms, and the glossary."""
        indented = [
            line.replace(_MEANING, " " * len(_MEANING), 1) if line.startswith(_MEANING) else line
            for line in self.content
        ]
        self.content = StringList(indented, items=self.content.items)
        entries = super().run()
        firsts: dict[str, nodes.term] = {}
        for term in (term for entry in entries for term in entry.findall(nodes.term)):
            firsts.setdefault(term.astext()[0].upper(), term)
        letters = nodes.paragraph(classes=["course-letters"])
        for letter, term in firsts.items():
            link = nodes.reference("", letter, internal=True, refid=term["ids"][0])
            letters += [link, nodes.Text(" ")]
        return [letters, *entries]


def setup(app: Sphinx) -> None:
    """Replace Sphinx's directive."""
    app.add_directive_to_domain("std", "glossary", PortableGlossary, override=True)
