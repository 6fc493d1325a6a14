r"""Write the book's questions as banks for an LMS: ``python -m scripts.question_bank DIR``.

``DIR/moodle.xml`` is for Moodle's *Question bank > Import > Moodle XML*, a category a chapter;
``DIR/canvas-qti.zip`` for Canvas's *Import Course Content > QTI .zip file* (QTI 1.2), a quiz a
chapter. Formulas are LaTeX in ``\( \)``, which both typeset.

Some text needs the built page: a measured number, another page's title. A question with such
text in itself, an answer or a reason is left out. A revealed text with it is left out alone.
"""

import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

sys.path.insert(0, str(Path(__file__).parent.parent / "book" / "_ext"))

from course_book.directives.chapters import chapter_titles
from course_book.directives.choices import Passage, Question, parse_choices
from course_book.markup.formulas import macros

from scripts.contents import book_pages

ROOT = Path(__file__).parent.parent
KINDS = ("{quiz}", "{predict}")
_LABEL = re.compile(r"^:label:\s*(\S+)\s*$", re.MULTILINE)
_OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
_ROLE = re.compile(r"\{[\w:-]+\}`")


@dataclass
class Entry:
    """A question of the book.

    Attributes:
        chapter: The stem of its chapter's file.
        label: Its label, unlike all others in the book.
        question: The question with its answers.
    """

    chapter: str
    label: str
    question: Question

    @property
    def needs_page(self) -> bool:
        """Whether the question, an answer or a reason has a role that only a build resolves."""
        answers = self.question.answers
        passages = [self.question.text, *(part for one in answers for part in (one.text, one.why))]
        return any(map(_has_role, passages))

    @property
    def reveal(self) -> str:
        """The text after answering, as HTML; empty if only a build can resolve it."""
        return "" if _has_role(self.question.reveal) else to_html(self.question.reveal)


def _has_role(passage: Passage) -> bool:
    return _ROLE.search("\n".join(passage.lines)) is not None


def _formula(content: str, options: dict[str, bool]) -> str:
    for name, meaning in macros().items():
        plain = "" if "#1" in meaning else meaning  # macros with an argument only colour it
        content = re.sub(rf"{re.escape(name)}(?![a-zA-Z])", lambda _, to=plain: to, content)
    escaped = content.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return rf"\[{escaped}\]" if options["display_mode"] else rf"\({escaped}\)"


_MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin, renderer=_formula)


def to_html(passage: Passage) -> str:
    r"""Render Markdown as HTML, its formulas as LaTeX in ``\( \)``."""
    return _MARKDOWN.render("\n".join(passage.lines)).strip()


def entries(chapter: Path) -> Iterator[Entry]:
    """Yield the questions of a chapter's source file, in order."""
    for token in MarkdownIt().parse(chapter.read_text("utf-8")):
        if token.type == "fence" and token.info.strip() in KINDS:
            label = _LABEL.search(token.content)
            if label is None:
                raise ValueError(f"{chapter.name}: a question without a label")
            lines = _OPTIONS.sub("", token.content).splitlines()
            yield Entry(chapter.stem, label[1], parse_choices(lines))


def _text(parent: Element, tag: str, html: str) -> None:
    SubElement(SubElement(parent, tag, format="html"), "text").text = html


def moodle(bank: list[Entry], titles: dict[str, str]) -> Element:
    """Return the questions as Moodle XML, the element ``quiz``.

    Right answers share 100 %; where several may be chosen, wrong ones take as much off together.

    Args:
        bank: The questions, chapter by chapter.
        titles: The titles of the chapters, by the stems of their files.
    """
    quiz, chapter = Element("quiz"), ""
    for entry in bank:
        if entry.chapter != chapter:
            chapter = entry.chapter
            category = SubElement(SubElement(quiz, "question", type="category"), "category")
            title = titles[chapter].replace("/", "//")  # a single one begins a subcategory
            SubElement(category, "text").text = f"$course$/top/{title}"
        one = SubElement(quiz, "question", type="multichoice")
        SubElement(SubElement(one, "name"), "text").text = entry.label
        _text(one, "questiontext", to_html(entry.question.text))
        _text(one, "generalfeedback", entry.reveal)
        SubElement(one, "single").text = str(not entry.question.multiple).lower()
        SubElement(one, "shuffleanswers").text = "true"
        answers = entry.question.answers
        right = sum(answer.right for answer in answers)
        wrong_takes = -100 / max(1, len(answers) - right) if entry.question.multiple else 0
        for answer in entry.question.mixed_answers:
            fraction = 100 / right if answer.right else wrong_takes
            choice = SubElement(one, "answer", fraction=f"{fraction:.7g}", format="html")
            SubElement(choice, "text").text = to_html(answer.text)
            _text(choice, "feedback", to_html(answer.why))
    return quiz


def _material(parent: Element, html: str) -> None:
    SubElement(SubElement(parent, "material"), "mattext", texttype="text/html").text = html


def _feedback(item: Element, ident: str, html: str) -> None:
    _material(SubElement(SubElement(item, "itemfeedback", ident=ident), "flow_mat"), html)


def _shown(processing: Element, answer: str | None, feedback: str) -> None:
    condition = SubElement(processing, "respcondition", {"continue": "Yes"})
    when = SubElement(condition, "conditionvar")
    if answer is None:
        SubElement(when, "other")
    else:
        SubElement(when, "varequal", respident="response1").text = answer
    SubElement(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)


def _item(section: Element, entry: Entry) -> None:
    multiple = entry.question.multiple
    kind = "multiple_answers_question" if multiple else "multiple_choice_question"
    item = SubElement(section, "item", ident=entry.label, title=entry.label)
    metadata = SubElement(SubElement(item, "itemmetadata"), "qtimetadata")
    for name, value in {"question_type": kind, "points_possible": "1"}.items():
        field = SubElement(metadata, "qtimetadatafield")
        SubElement(field, "fieldlabel").text = name
        SubElement(field, "fieldentry").text = value
    presentation = SubElement(item, "presentation")
    _material(presentation, to_html(entry.question.text))
    cardinality = "Multiple" if multiple else "Single"
    response = SubElement(presentation, "response_lid", ident="response1", rcardinality=cardinality)
    choices = SubElement(response, "render_choice")
    processing = SubElement(item, "resprocessing")
    SubElement(
        SubElement(processing, "outcomes"),
        "decvar",
        {"maxvalue": "100", "minvalue": "0", "varname": "SCORE", "vartype": "Decimal"},
    )
    if entry.reveal:
        _shown(processing, None, "general_fb")
        _feedback(item, "general_fb", entry.reveal)
    right = Element("respcondition", {"continue": "No"})
    when = SubElement(right, "conditionvar")
    every = SubElement(when, "and") if multiple else when
    for number, answer in enumerate(entry.question.mixed_answers):
        ident = f"answer{number}"
        _material(SubElement(choices, "response_label", ident=ident), to_html(answer.text))
        if answer.why:
            _shown(processing, ident, f"{ident}_fb")
            _feedback(item, f"{ident}_fb", to_html(answer.why))
        if answer.right or multiple:
            place = every if answer.right else SubElement(every, "not")
            SubElement(place, "varequal", respident="response1").text = ident
    SubElement(right, "setvar", action="Set", varname="SCORE").text = "100"
    processing.append(right)


def qti(bank: list[Entry], title: str) -> Element:
    """Return one chapter's questions as QTI 1.2 for Canvas, the element ``questestinterop``."""
    root = Element("questestinterop", xmlns="http://www.imsglobal.org/xsd/ims_qtiasiv1p2")
    assessment = SubElement(root, "assessment", ident=bank[0].chapter, title=title)
    section = SubElement(assessment, "section", ident="root_section")
    for entry in bank:
        _item(section, entry)
    return root


def _bytes(element: Element) -> bytes:
    return ElementTree.tostring(element, encoding="utf-8", xml_declaration=True)


def write_qti(file: Path, bank: list[Entry], titles: dict[str, str]) -> None:
    """Write the questions into a zip for Canvas: an assessment per chapter, and a manifest.

    ``titles`` maps the stems of chapters' files to their titles.
    """
    manifest = Element(
        "manifest",
        identifier="course-questions",
        xmlns="http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1",
    )
    SubElement(manifest, "organizations")
    resources = SubElement(manifest, "resources")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for chapter in dict.fromkeys(entry.chapter for entry in bank):
            href = f"{chapter}/{chapter}.xml"
            of_chapter = [entry for entry in bank if entry.chapter == chapter]
            archive.writestr(href, _bytes(qti(of_chapter, titles[chapter])))
            resource = SubElement(
                resources, "resource", identifier=chapter, type="imsqti_xmlv1p2", href=href
            )
            SubElement(resource, "file", href=href)
        archive.writestr("imsmanifest.xml", _bytes(manifest))


def chapters() -> list[Path]:
    """Return the sources of the pages that the table of contents lists, in its order."""
    return [ROOT / "book" / f"{name}.md" for name in book_pages(ROOT)]


def main(folder: Path) -> None:
    """Write both question banks into a folder, and print their sizes."""
    found = [entry for chapter in chapters() for entry in entries(chapter)]
    bank = [entry for entry in found if not entry.needs_page]
    titles = chapter_titles(ROOT / "book")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "moodle.xml").write_bytes(_bytes(moodle(bank, titles)))
    write_qti(folder / "canvas-qti.zip", bank, titles)
    silent = sum(_has_role(entry.question.reveal) for entry in bank)
    print(f"{len(bank)} questions of {len(found)} in {folder}: moodle.xml, canvas-qti.zip")
    print(f"left out, as only the built page has their numbers or links: {len(found) - len(bank)}")
    print(f"without the revealed text of a prediction, for the same reason: {silent}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
