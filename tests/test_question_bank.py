"""The question banks: every question of the book, with the book's right answers."""

import re
import zipfile
from xml.etree import ElementTree

import pytest

from scripts import question_bank
from scripts.question_bank import chapters, entries, moodle, qti, to_html, write_qti

SOURCE = r"""```{quiz}
:label: quiz-one

Is $a<b$ & `<i>` wise?

- [x] yes, $\query{x}\T$
      > Because.
- [ ] no
      > Look again.
```

```{predict}
:label: predict-two

Which?

- [x] one
- [ ] two
- [x] three
- [ ] four

It was {glue:text}`number`.
```
"""
QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"


@pytest.fixture
def bank(tmp_path):
    """The two questions of a small chapter."""
    chapter = tmp_path / "small.md"
    chapter.write_text(SOURCE, encoding="utf-8")
    return list(entries(chapter))


def reread(element):
    """Return an XML element after it was written and parsed again."""
    return ElementTree.fromstring(ElementTree.tostring(element))


def test_every_question_directive_becomes_an_entry():
    for chapter in chapters():
        source = chapter.read_text("utf-8")
        directives = re.findall(r"^```\{(?:quiz|predict)\}$", source, flags=re.MULTILINE)
        assert len(list(entries(chapter))) == len(directives), chapter.name


def test_moodle_gives_full_points_for_right_answers(bank):
    one, two = reread(moodle(bank, {"small": "A/B"})).findall("question[@type='multichoice']")
    assert [q.findtext("single") for q in (one, two)] == ["true", "false"]
    assert sorted(float(a.get("fraction")) for a in one.iter("answer")) == [0, 100]
    assert sorted(float(a.get("fraction")) for a in two.iter("answer")) == [-50, -50, 50, 50]
    assert {a.findtext("feedback/text") for a in one.iter("answer")} == {
        "<p>Because.</p>",
        "<p>Look again.</p>",
    }


def test_text_is_html_with_tex_formulas(bank):
    assert to_html(bank[0].question.text) == (
        r'<p>Is <span class="math inline">\(a&lt;b\)</span> &amp; <code>&lt;i&gt;</code> wise?</p>'
    )
    assert to_html(bank[0].question.answers[0].text) == (
        r'<p>yes, <span class="math inline">\({x}^{\top}\)</span></p>'
    )
    assert not bank[1].needs_page
    assert bank[1].reveal == ""


def test_canvas_gives_full_points_only_for_right_answers(bank):
    one, two = reread(qti(bank, "Small")).iter(f"{QTI}item")
    for item, right in ((one, {"yes"}), (two, {"one", "three"})):
        texts = {
            label.get("ident"): "".join(label.itertext())
            for label in item.iter(f"{QTI}response_label")
        }
        scored = next(
            c for c in item.iter(f"{QTI}respcondition") if c.find(f"{QTI}setvar") is not None
        )
        wrong = {v.text for no in scored.iter(f"{QTI}not") for v in no}
        chosen = {v.text for v in scored.iter(f"{QTI}varequal")} - wrong
        assert {re.search(r"\w+", texts[ident].removeprefix("<p>"))[0] for ident in chosen} == right
        shown = {link.get("linkrefid") for link in item.iter(f"{QTI}displayfeedback")}
        assert shown == {part.get("ident") for part in item.iter(f"{QTI}itemfeedback")}


def test_manifest_names_the_files_of_the_zip(bank, tmp_path):
    write_qti(tmp_path / "bank.zip", bank, {"small": "Small"})
    with zipfile.ZipFile(tmp_path / "bank.zip") as archive:
        manifest = ElementTree.fromstring(archive.read("imsmanifest.xml"))
        named = {part.get("href") for part in manifest.iter() if part.tag.endswith("}file")}
        assert named | {"imsmanifest.xml"} == set(archive.namelist())


def test_whole_book_is_written_and_skipped_questions_are_counted(tmp_path, capsys):
    question_bank.main(tmp_path)
    kept, every = map(int, re.match(r"(\d+) questions of (\d+)", capsys.readouterr().out).groups())
    written = ElementTree.parse(tmp_path / "moodle.xml").findall("question[@type='multichoice']")
    assert 0 < len(written) == kept <= every
    labels = [question.findtext("name/text") for question in written]
    assert len(set(labels)) == len(labels)
