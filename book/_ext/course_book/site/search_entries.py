"""The entries of the book's search: sections, glossary terms, names of the library, figures.

They are written into one script, which ``js/search.js`` loads with MiniSearch once a reader
searches. A script, unlike JSON, also loads in a page that is opened from a folder.
"""

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from course_book.site.html_element import html_element
from course_book.site.offline import is_site

FILE = "search-entries.js"
SECTION, TERM, NAME, FIGURE = "section", "term", "name", "figure"
_LEFT_OUT = (
    *(nodes.section, nodes.literal_block, nodes.raw, nodes.comment, nodes.target, nodes.figure),
    *(nodes.math_block, addnodes.toctree, addnodes.desc, nodes.definition_list),
)
_MACROS = {
    "alpha": "α", "beta": "β", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η",
    "lambda": "λ", "mu": "μ", "omega": "ω", "Phi": "Φ", "pi": "π", "sigma": "σ", "tau": "τ",
    "theta": "θ", "T": "ᵀ", "sqrt": "√", "cdot": "·", "times": "×", "partial": "∂", "sum": "∑",
    "dots": "…", "infty": "∞", "odot": "⊙", "approx": "≈", "mid": "|", "le": "≤", "ge": "≥",
    "ne": "≠", "propto": "∝", "to": "→", "pm": "±", "lVert": "‖", "rVert": "‖", "prod": "∏",
    "langle": "⟨", "rangle": "⟩", "ell": "ℓ", "frac": "⁄", "dfrac": "⁄", "tfrac": "⁄",
    "cdots": "…",
}  # fmt: skip
_SIGNS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"\\(?:query|key|value|mask|encoder|decoder|truth|prediction)\b", ""),
    (r"\\(?:left|right|mathrm|mathbf|operatorname|text|htmlClass|[bB]ig+[lrm]?|hat|bar)\b", ""),
    (r"\\x?(left|right)arrow\b", lambda found: "←" if found[1] == "left" else "→"),
    (r"\\([A-Za-z]+)", lambda found: _MACROS.get(found[1], found[1])),
    (r"\\, ?", " "),
    (r"\{,\}", ","),
    (r"\\.", ""),
    (r"([_^]) *(\w)", r"\1{\2}"),
    (r"⁄ *(\w)", r"⁄{\1}"),
    (r"(⁄\{\w\}) *(\w)", r"\1{\2}"),
)
_GROUPS = re.compile(r"⁄\{([^{}]*)\} *\{([^{}]*)\}|(?<!⁄)([√_^]?) *\{([^{}]*)\}(?=([^\W_ᵀ]?))")
_RELATION = re.compile(r"(?<!\() *([=≈≤≥≠∝→←×<>]) *")
_SPACE = re.compile(r"\s+")
_GAP = re.compile(r" +(?=[.,;:)](?!\w))| +(?= )")  # left by a citation
# before an answer to choose, and before its reason or the outcome
_SIGN_BEFORE = {"course-choice": "· ", "course-choice__why": "– ", "course-choices__reveal": "– "}
# between cells and between rows, at which js/search.js may begin an excerpt
_BETWEEN = {nodes.row: " | ", nodes.tbody: " • ", nodes.tgroup: " • "}

Entry = dict[str, str]
"""``kind``, ``page``, ``anchor``, ``title``, ``of`` (the chapter) and ``text``; ``html`` of a title
with a formula; ``terms`` of the glossary that send readers there."""
Place = tuple[str, str]
"""A page, and the id of a section there; empty for the whole page."""


def page_entries(
    builder: StandaloneHTMLBuilder,
    docname: str,
    document: nodes.document,
    terms: dict[Place, list[str]],
) -> Iterator[Entry]:
    """Yield the search entries of one page, in order.

    ``terms`` has for each place, (page, id), the glossary's terms whose meaning links to it.
    """
    section = next(document.findall(nodes.section), None)
    chapter = _plain(section.next_node(nodes.title)) if section else ""

    def entry(kind: str, node: nodes.Element, title: nodes.Element, *parts: nodes.Node) -> Entry:
        found = {
            "kind": kind,
            "page": builder.get_target_uri(docname),
            "anchor": node["ids"][0],
            "title": title.astext() if any(title.findall(nodes.math)) else _plain(title),
            "of": chapter,
            "text": " ".join(filter(None, map(_plain, parts))),
        }
        if any(title.findall(nodes.math)):
            words = nodes.inline("", "", *(child.deepcopy() for child in title.children))
            found["html"] = builder.render_partial(words)["fragment"].strip()
        return found

    for node in document.findall(nodes.Element):
        if isinstance(node, nodes.section) and isinstance(node.children[0], nodes.title):
            kind = NAME if node["ids"][0].startswith("module-") else SECTION
            places = [*node["ids"], *([""] if isinstance(node.parent, nodes.document) else [])]
            linking = [term for place in places for term in terms.get((docname, place), [])]
            yield entry(kind, node, *node.children) | (
                {"terms": ", ".join(linking)} if linking else {}
            )
        elif not node["ids"]:
            continue
        elif isinstance(node, nodes.term):
            yield entry(TERM, node, node, node.parent.children[-1])
        elif isinstance(node, addnodes.desc_signature):
            name = nodes.inline("", node["ids"][0].removeprefix("course_lib."))
            described = node.parent.next_node(addnodes.desc_content, descend=True)
            yield entry(NAME, node, name, *described.children[:1])
        elif isinstance(node, nodes.figure) and (caption := node.next_node(nodes.caption)):
            first, _, rest = _plain(caption).partition(". ")
            yield entry(FIGURE, node, nodes.inline("", first.rstrip(".")), nodes.inline("", rest))


def find_terms(document: nodes.document, labels: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield the target, (page, id), and the term for each link in a glossary term's meaning.

    ``labels`` are those of Sphinx's standard domain.
    """
    for item in document.findall(nodes.definition_list_item):
        for term in item.findall(nodes.term):
            for reference in item.children[-1].findall(addnodes.pending_xref):
                target = reference["reftarget"]
                if reference["reftype"] == "ref" and target in labels:
                    yield labels[target][:2], _plain(term)
                elif reference["reftype"] == "doc":
                    yield (posixpath.join("book", posixpath.basename(target)), ""), _plain(term)


def _name_targets(document: nodes.document, labels: dict[str, Any], titles: dict[str, str]) -> None:
    """Give each link without a text of its own the title of its target, as readers see it.

    ``labels`` are those of Sphinx's standard domain, ``titles`` the titles of pages.
    """
    for link in document.findall(addnodes.pending_xref):
        target = link["reftarget"]
        if link.get("refexplicit"):
            continue
        if link["reftype"] == "ref" and target in labels:
            link.children = [nodes.inline("", _named(labels[target][2]))]
        elif link["reftype"] == "doc":
            page = posixpath.join("book", posixpath.basename(target))
            link.children = [nodes.inline("", titles.get(page, ""))]


def _named(title: str) -> str:
    """Return a title as readers see it: Sphinx keeps that of a label with TeX, without dollars."""
    return _formula(title) if "\\" in title else title


def _plain(node: nodes.Node) -> str:
    """Return the words of a node, without code, drawings, and parts with entries of their own."""
    if isinstance(node, _LEFT_OUT) or getattr(node, "tagname", "").startswith("diagram_"):
        return ""
    if isinstance(node, nodes.container) and node.get("literal_block"):  # a listing's caption
        return ""
    if isinstance(node, addnodes.pending_xref) and node["refdomain"] == "cite":  # still a key
        return ""
    if isinstance(node, nodes.math):
        return _formula(node.astext())
    if isinstance(node, nodes.Text):
        return _SPACE.sub(" ", node.astext())
    in_a_line = isinstance(node, nodes.TextElement) and all(
        isinstance(child, nodes.Text | nodes.Inline) for child in node.children
    )
    between = "" if in_a_line else _BETWEEN.get(type(node), " ")
    words = between.join(filter(None, map(_plain, node.children))).strip()
    start = node["start"] if isinstance(node, html_element) else ""
    kind = re.match(r'<\w+ class="([\w-]+)"', start)
    return (_SIGN_BEFORE.get(kind[1], "") if kind else "") + _GAP.sub("", words)


def _formula(tex: str) -> str:
    r"""Return a TeX formula as plain words and signs, for a search result's excerpt.

    ``js/search.js`` draws powers and indices: ``x_{t-1}^2`` becomes ``x_(t-1)^2``.
    """
    for pattern, sign in _SIGNS:
        tex = re.sub(pattern, sign, tex)
    plain = ""
    while plain != tex:  # from the innermost braces outwards
        plain, tex = tex, _GROUPS.sub(_group, tex)
    return _RELATION.sub(r" \1 ", re.sub(r"[{}]|(?<=[∂√]) ", "", tex)).strip()


def _group(found: re.Match[str]) -> str:
    above, below, sign, group, following = found.groups()
    if above is not None:
        return f"{_in_brackets(above)}/{_in_brackets(below)}"
    if not sign:
        return str(group)
    group = group.strip()
    whole = f"({group})" if sign == "^" and len(group) > 1 else _in_brackets(group)
    return f"{sign}{whole}{' ' if sign == '_' and following else ''}"


def _in_brackets(group: str) -> str:
    return group if re.fullmatch(r"[\w.,]*", group) else f"({group})"


def _write(app: Sphinx, error: Exception | None) -> None:
    if error or not is_site(app):
        return
    assert isinstance(app.builder, StandaloneHTMLBuilder)
    documents = {name: app.env.get_doctree(name) for name in sorted(app.env.found_docs)}
    labels = app.env.domaindata["std"]["labels"]
    terms: dict[Place, list[str]] = {}
    for document in documents.values():
        for place, term in find_terms(document, labels):
            terms.setdefault(place, []).append(term)
    titles = {name: title.astext() for name, title in app.env.titles.items()}
    entries: list[Entry] = []
    for docname, document in documents.items():
        _name_targets(document, labels, titles)
        entries += page_entries(app.builder, docname, document, terms)
    script = f"window.courseSearchEntries = {json.dumps(entries, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / FILE).write_text(script, encoding="utf-8")


def _replace_search(app: Sphinx) -> None:
    """Let Sphinx write no index and no page of its own; the page is a template of the book's."""
    if is_site(app):
        app.builder.search = False  # type: ignore[attr-defined]
        app.config.html_additional_pages = {"search": "search.html"}


def setup(app: Sphinx) -> None:
    """Replace Sphinx's search, and write the entries after all pages."""
    app.connect("builder-inited", _replace_search)
    app.connect("build-finished", _write)
