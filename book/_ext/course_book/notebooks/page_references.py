"""The text that a page's roles stand for: titles, numbers, glued values and citations."""

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myst_nb.core.variables import format_plain_text
from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from pybtex.richtext import Text
from sphinx.directives.code import LiteralIncludeReader
from sphinx.environment import BuildEnvironment

from course_book.markup.condensed_code import condensed
from course_book.markup.graded_listings import homework_of, summary

_TARGET = re.compile(r"^(?P<text>.+?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
_CODE_ROLES = ("class", "func", "meth", "mod", "attr", "data", "exc", "obj")


class PageReferences:
    """Resolves the roles and included files of one page for its notebook.

    Args:
        env: Sphinx's environment, after all pages are read.
        docname: The page.
    """

    def __init__(self, env: BuildEnvironment, docname: str) -> None:
        self.env, self.docname = env, docname
        self.cited: dict[str, None] = {}  # keys of cited publications, in order
        self._values: dict[str, Any] | None = None

    def role(self, name: str, content: str) -> str:
        """Return the Markdown that a role, such as ``cite:t``, with this content stands for."""
        match = _TARGET.match(content)
        text, target = (match["text"], match["target"]) if match else ("", content)
        known: dict[str, Callable[[str, str], str]] = {
            "doc": self._doc,
            "ref": self._ref,
            "numref": self._numref,
            "eq": lambda text, target: f"({self.equation(target)})",
            "glue:text": lambda text, target: self._value(content),
            "cite:t": lambda text, target: self._cite(target, parentheses=False),
            "cite:p": lambda text, target: self._cite(target, parentheses=True),
        }
        if name in known:
            return known[name](text, target)
        shown = text or target.lstrip("~")
        return f"`{shown}`" if name.split(":")[-1] in _CODE_ROLES else shown

    def included(self, file: str, options: dict[str, str]) -> str:
        """Return a ``literalinclude``'s condensed code; ``file`` is relative to the page."""
        path = self.env.relfn2path(file, self.docname)[1]
        numbers = {"dedent": int(options["dedent"])} if "dedent" in options else {}
        reader = LiteralIncludeReader(path, {**options, **numbers}, self.env.config)
        return condensed(reader.read()[0]).shown

    def fold_summary(self, options: dict[str, str]) -> str:
        """Return the HTML shown for a folded ``literalinclude``; empty if it is not folded."""
        pyobject = options.get("pyobject", "")
        homework = homework_of(pyobject, Path(self.env.srcdir) / "solutions")
        return summary(pyobject, homework) if homework else ""

    def equation(self, label: str) -> str:
        """Return the number of the formula with this label."""
        return str(self.env.domaindata["math"]["objects"][label][1])

    def references(self) -> list[str]:
        """Return a line of Markdown for each publication that was cited so far."""
        return [
            f"{self._named(key)}, *{_plain(self._entries[key].fields['title'])}*."
            f"{_address(self._entries[key])}"
            for key in self.cited
        ]

    def _linked(self, text: str, docname: str, label: str = "") -> str:
        base = self.env.config.html_baseurl
        if not base:
            return text
        anchor = f"#{label}" if label else ""
        return f"[{text}]({base.rstrip('/')}/{docname}.html{anchor})"

    def _doc(self, text: str, target: str) -> str:
        folder = "" if target.startswith("/") else posixpath.dirname(self.docname)
        docname = posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
        if docname not in self.env.titles:  # Sphinx has warned
            return text or f"*{target}*"
        return self._linked(text or f"*{self.env.titles[docname].astext()}*", docname)

    def _ref(self, text: str, target: str) -> str:
        std = self.env.domaindata["std"]
        if target in std["labels"]:
            docname, label, title = std["labels"][target]
        elif target in std["anonlabels"]:
            (docname, label), title = std["anonlabels"][target], text
        else:  # Sphinx has warned
            return text or f"*{target}*"
        return self._linked(text or f"*{title}*", docname, label)

    def _numref(self, text: str, target: str) -> str:
        docname, label = self.env.domaindata["std"]["anonlabels"].get(target, ("", ""))
        for kind, numbers in self.env.toc_fignumbers.get(docname, {}).items():
            if label in numbers:
                number = ".".join(map(str, numbers[label]))
                return self._linked(f"{kind.capitalize()} {number}", docname, label)
        return text or target

    def _value(self, content: str) -> str:
        if self._values is None:
            config = self.env.mystnb_config  # type: ignore[attr-defined]  # myst-nb's
            file = Path(config.output_folder) / f"{self.docname}.glue.json"
            self._values = json.loads(file.read_text())
        key, _, form = content.partition(":")
        return format_plain_text(self._values[key]["data"]["text/plain"], form)

    @property
    def _entries(self) -> dict[str, Entry]:
        citations = self.env.domaindata["cite"]["citations"]
        return {citation.key: citation.entry for citation in citations}

    def _cite(self, keys: str, *, parentheses: bool) -> str:
        names = []
        for key in (part.strip() for part in keys.split(",")):
            self.cited[key] = None
            names.append(self._named(key, comma=parentheses))
        return f"({'; '.join(names)})" if parentheses else ", ".join(names)

    def _named(self, key: str, *, comma: bool = False) -> str:
        entry = self._entries[key]
        people = entry.persons.get("author") or entry.persons.get("editor") or []
        names = [" ".join(_plain(part) for part in person.last_names) for person in people]
        if len(names) > 2:
            authors = f"{names[0]} et al."
        else:
            authors = " and ".join(names) or entry.fields.get("organization", key)
        year = entry.fields["year"]
        return f"{authors}, {year}" if comma else f"{authors} ({year})"


def _plain(latex: str) -> str:
    # Not render_as("text"), which searches all installed packages for its backend each time.
    return Text.from_latex(latex).render(Backend())


def _address(entry: Entry) -> str:
    text = entry.fields.get("url", "") or entry.fields.get("note", "")
    found = re.search(r"https?://[^\s}]+", text)
    return f" <{found[0]}>" if found else ""
