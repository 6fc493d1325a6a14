"""The lecture of a chapter's built page: its topics, with slides and notes.

A topic is a heading with parts below it, a question, or its answer. ``fitting.js`` measures the
parts and distributes a topic over slides.
"""

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Literal

from bs4 import BeautifulSoup, NavigableString, Tag

LINES = 20
"""Maximum lines of a cell's code or output on a slide; longer ones go into the notes."""
LETTERS = 260
"""Maximum letters of a paragraph on a slide, in whole sentences; the first is always shown."""
LISTING_LINES = 26
"""Maximum lines of a listing on a slide; of a longer one only the signature is shown."""
_ENDS = re.compile(r"[.!?:][)’”\"']*$")
_WITHIN = re.compile(r"[.!?][)’”\"']*(?=\s+[A-Z“‘])")
_NOT_SHOWN = (
    "a.headerlink, button, template, .course-choices__foot, .course-interactive__off, "
    "script:not([type]), .course-veil__line, .course-listing-foot, .eqno"
)

Kind = Literal["text", "picture", "live"]


@dataclass
class Part:
    """A paragraph, formula, picture, figure or listing on a slide.

    Attributes:
        html: The content.
        kind: ``text`` keeps its size; ``picture`` and ``live`` (an interactive figure) are scaled.
        leads: Whether it must be on one slide with the next part, as text that ends in a colon.
        notes: The speaker's notes that belong to it, as HTML.
    """

    html: str
    kind: Kind = "text"
    leads: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass
class Topic:
    """The content under one heading of a chapter, shown on one or more slides.

    Attributes:
        title: The heading, as HTML.
        kind: CSS class of its slides: title, section, question, answer or exercises.
        parts: The content, in order.
    """

    title: str
    kind: str = "section"
    parts: list[Part] = field(default_factory=list)


@dataclass
class Lecture:
    """The lecture of a chapter.

    Attributes:
        name: Name of the page, such as ``masking``.
        title: Title of the chapter, without markup.
        topics: Its topics, in the page's order.
        data: The page's ``script`` elements with the data of its figures.
    """

    name: str
    title: str
    topics: list[Topic]
    data: str


def read_lecture(name: str, html: str) -> Lecture:
    """Return the lecture of a chapter's page, given its name and its built HTML."""
    soup = BeautifulSoup(html, "html.parser")
    article = soup.select_one("article.bd-article > section")
    if article is None:
        raise ValueError(f"page {name!r} has no chapter in it")
    data = article.select("script[type='application/json']")
    for script in data:
        script.extract()
    for part in article.select(_NOT_SHOWN):
        part.decompose()
    for link in article.select("a"):
        link.unwrap()
    for part in article.select(".exercise section, .solution section"):  # no slides of their own
        part.name, part["class"] = "div", "section"
    writer = _Writer()
    writer.chapter(article)
    title = article.select_one("h1")
    plain = title.get_text(" ", strip=True) if title else name
    return Lecture(name, plain, writer.topics, "\n".join(map(str, data)))


class _Writer:
    """Turns a page's elements into ``topics``: on slides (``show``) or in notes (``say``)."""

    def __init__(self) -> None:
        self.topics: list[Topic] = []
        self.title = ""
        self._open: Topic | None = None
        self._said: list[str] = []

    # ---- slides and notes ----

    def begin(self, title: str, kind: str = "section") -> None:
        self.end()
        self.title = title
        self._open = Topic(title, kind)
        self.topics.append(self._open)

    def end(self) -> None:
        """Close the open topic, and add the notes that no part has yet to its last part."""
        if self._said and self.topics and self.topics[-1].parts:
            self.topics[-1].parts[-1].notes += self._said
            self._said = []
        self._open = None

    def show(self, html: str, kind: Kind = "text", *, leads: bool = False) -> None:
        if self._open is None:  # after a question the section goes on
            title, said = self.title, self._said
            self._said = []
            self.begin(title)
            self._said = said
        assert self._open is not None
        self._open.parts.append(Part(html, kind, leads, self._said))
        self._said = []

    def say(self, html: object) -> None:
        self._said.append(str(html))

    # ---- the elements of a page ----

    def chapter(self, article: Tag) -> None:
        heading = article.find("h1", recursive=False)
        self.begin(_inner(heading), "title")
        first = article.find("p", recursive=False)
        if isinstance(first, Tag):
            self.show(f"<p>{_beginning(first)}</p>")
        self.begin(_inner(heading))
        for block in _blocks(article):
            if block.name == "section":
                self.end()
                self.section(block)
            elif "tip" in block.get("class", []):
                self.goals(block)
            else:
                self.block(block)
        self.end()
        self.topics = [topic for topic in self.topics if topic.parts]

    def goals(self, box: Tag) -> None:
        title = box.select_one(".admonition-title")
        self.begin(_inner(title))
        for part in box.find_all(["ul", "p"], recursive=False):
            if part is not title:
                self.show(str(part))

    def section(self, section: Tag) -> None:
        heading = section.find(["h2", "h3", "h4"], recursive=False)
        exercises = section.select_one(":scope > .exercise") is not None
        self.begin(_inner(heading), "exercises" if exercises else "section")
        first = True
        for block in _blocks(section):
            if block.name == "section":
                title = self.title
                self.section(block)
                self.end()
                self.title = title
            elif block.name == "p":
                self.paragraph(block, first)
                first = False
            else:
                self.block(block)
        self.end()

    def paragraph(self, block: Tag, first: bool) -> None:
        """Add a paragraph to the notes, and to the slide if it opens a section or is emphasised."""
        lead = next((part for part in block.contents if str(part).strip()), None)
        named = isinstance(lead, Tag) and lead.name == "strong"
        if named and lead is not None and lead.get_text().startswith("Remember"):
            self.begin(_inner(lead).rstrip("."))
            lead.extract()
            self.show(str(block))
            return
        introduces = block.get_text().rstrip().endswith(":")
        self.say(block)
        if first or named:
            self.show(f"<p>{_beginning(block)}</p>", leads=named or introduces)
        elif introduces:
            self.show(f"<p>{_sentences(block)[-1]}</p>", leads=True)

    def block(self, block: Tag) -> None:
        classes = block.get("class", [])
        if "course-choices" in classes:
            self.question(block)
        elif "exercise" in classes:
            self.show(str(block))
        elif "solution" in classes:
            self.say(block)
            self.end_of_exercise()
        elif "cell" in classes:
            self.cell(block)
        elif "course-listing" in classes or "literal-block-wrapper" in classes:
            self.listing(block)
        elif block.name == "figure":
            self.figure(block)
        elif block.name == "p":
            self.say(block)
        elif block.name in ("ul", "ol", "blockquote", "div", "table", "dl"):
            self.show(str(block))

    def end_of_exercise(self) -> None:
        if self._open is not None and self._open.parts:
            self._open.parts[-1].notes += self._said
            self._said = []

    def figure(self, figure: Tag) -> None:
        """Add a figure with its caption's first sentence; the whole caption goes into the notes."""
        caption = figure.find("figcaption")
        if isinstance(caption, Tag):
            self.say(_inner(caption))
            text = caption.select_one(".caption-text") or caption.find("p") or caption
            assert isinstance(text, Tag)
            beginning = BeautifulSoup(_beginning(text, LETTERS // 3), "html.parser")
            text.clear()
            text.append(beginning)
        if "course-interactive" not in figure.get("class", []):
            self.show(str(figure), "picture")
            return
        if isinstance(caption, Tag):  # its words are in the notes, and it needs room
            caption.decompose()
        if isinstance(first := figure.select_one(".course-interactive__try"), Tag):
            self.say(first.extract())
        self.show(str(figure), "live")

    def cell(self, cell: Tag) -> None:
        """Add a cell's figures to the slide, and its code and output if they are short."""
        code = cell.select_one(".cell_input pre")
        shown = [] if cell.select_one("details.hide") else self._short(cell.select(".cell_input"))
        outputs = cell.select(".cell_output > *")
        drawn = [one for one in outputs if one.find(["svg", "img"]) is not None]
        printed = [one for one in outputs if one not in drawn and one.get_text(strip=True)]
        shown += [f'<div class="cell_output">{one}</div>' for one in self._short(printed)]
        if shown:
            self.show(f'<div class="cell">{"".join(shown)}</div>', leads=bool(code and drawn))
        for output in drawn:
            figure = output if output.name == "figure" else output.find("figure")
            if isinstance(figure, Tag):
                self.figure(figure)
            else:
                self.show(str(output), "picture")

    def _short(self, blocks: list[Tag]) -> list[str]:
        """Return the HTML of the blocks of at most ``LINES`` lines; add the others to the notes."""
        for block in blocks:
            if _lines(block) > LINES:
                self.say(block)
        return [str(block) for block in blocks if _lines(block) <= LINES]

    def listing(self, block: Tag) -> None:
        """Add a listing to the slide; of a long or graded one only the signature."""
        code = block.select_one("pre")
        if code is None:
            return
        if "course-listing" not in block.get("class", []) and _lines(code) <= LISTING_LINES:
            self.show(str(block))
            return
        self.say(block.select_one(".literal-block-wrapper") or block)
        lines = _inner(code).splitlines()
        docstring = next((at for at, line in enumerate(lines) if 'class="sd"' in line), None)
        if docstring is not None and docstring < LINES:
            signature = copy(block)
            shown = signature.select_one("pre")
            assert shown is not None
            text = "\n".join([*lines[: docstring + 1], "    ..."])
            shown.replace_with(BeautifulSoup(f"<pre>{text}</pre>", "html.parser"))
            inner = signature.select_one(".literal-block-wrapper") or signature
            self.show(str(inner))

    def question(self, block: Tag) -> None:
        """Add two topics: the question, and the question with the right answers and reasons."""
        kicker = _inner(block.select_one(".course-choices__kicker"))
        title, asked = self.title, _inner(block.select_one(".course-choices__question"))
        answers = block.select(".course-choice")
        self.begin(kicker, "question")
        self.show(f'<div class="asked">{asked}</div>')
        self.show(_answers(answers, marked=False))
        self.begin(kicker, "answer")
        self.show(f'<div class="asked">{asked}</div>')
        reveal = block.select_one(".course-choices__reveal > div")
        for answer in answers:
            if why := answer.select_one(".course-choice__why > div"):
                label = _inner(answer.select_one("label"))
                self.say(f"<p><em>{label}</em></p>{_inner(why)}")
        self.show(_answers(answers, marked=True))
        if reveal is not None:
            paragraphs = reveal.find_all("p", recursive=False)
            if paragraphs:
                begins = _beginning(paragraphs[0], 2 * LETTERS)
                self.show(f'<div class="reveal-answer"><p>{begins}</p></div>')
            self.say(_inner(reveal))
        self.end()
        self.title = title


def _answers(answers: list[Tag], *, marked: bool) -> str:
    rows = []
    for letter, answer in zip("ABCDEFGH", answers, strict=False):
        right = answer.get("data-right") == "true"
        row = f"<b>{letter}</b><div>{_inner(answer.select_one('label'))}"
        if marked and right and (why := answer.select_one(".course-choice__why > div")):
            reasons = (part for part in why.find_all("p") if not part.get("class"))
            row += "".join(f'<p class="why">{_inner(part)}</p>' for part in reasons)
        state = ("right" if right else "wrong") if marked else ""
        mark = f"<i>{'✓' if right else ''}</i>" if marked else ""
        rows.append(f'<li class="{state}">{row}</div>{mark}</li>')
    return f'<ol class="answers">{"".join(rows)}</ol>'


def _blocks(section: Tag) -> Iterator[Tag]:
    """Yield the child elements of a section without headings and labels.

    Content that the page hides until the reader answers a question is included.
    """
    for block in section.find_all(recursive=False):
        if "course-veil" in block.get("class", []):
            content = block.select_one(".course-veil__content")
            if content is not None:
                yield from _blocks(content)
        elif block.name not in ("h1", "h2", "h3", "h4", "span", "script"):
            yield block


def _inner(tag: Tag | None) -> str:
    return tag.decode_contents().strip() if tag is not None else ""


def _lines(code: Tag) -> int:
    return len(code.get_text().strip("\n").splitlines())


def _sentences(block: Tag) -> list[str]:
    """Return a paragraph's sentences as HTML; sentences within one element stay together."""
    sentences, current = [], ""
    contents = list(block.contents)
    for at, part in enumerate(contents):
        if isinstance(part, NavigableString):
            pieces = _WITHIN.split(str(part))
            ends = _WITHIN.findall(str(part))
            for piece, end in zip(pieces, [*ends, ""], strict=True):
                current += piece + end
                if end:
                    sentences.append(current.strip())
                    current = ""
        elif isinstance(part, Tag):
            current += str(part)
            after = str(contents[at + 1]) if at + 1 < len(contents) else ""
            if _ENDS.search(part.get_text().rstrip()) and re.match(r"\s+[A-Z“‘<]", after):
                sentences.append(current.strip())
                current = ""
    return [*sentences, current.strip()] if current.strip() else sentences


def _beginning(block: Tag, letters: int = LETTERS) -> str:
    """Return the first whole sentences of a paragraph, up to about ``letters`` characters."""
    shown: list[str] = []
    length = 0
    for sentence in _sentences(block):
        length += len(BeautifulSoup(sentence, "html.parser").get_text())
        if shown and length > letters:
            break
        shown.append(sentence)
    return " ".join(shown)
