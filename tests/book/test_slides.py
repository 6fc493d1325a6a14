"""Slides have the whole text of a page, or their notes do; they fit their frames and load alone."""

import re

import pytest
from bs4 import BeautifulSoup

from scripts.slides.deck import Surroundings, deck
from scripts.slides.lecture import read_lecture
from scripts.slides.writing import print_deck, write_deck
from tests.book.contents import chapters, in_book
from tests.book.watched_page import depends_on_page, opened

PAGE = """<article class="bd-article"><section><h1>Sums<a class="headerlink">#</a></h1>
<p>Two numbers make one. It is <em>their</em> sum.</p>
<section><h2>How</h2>
<p>Take <code>a</code>. Then add this:</p>
<div class="math">a + b</div>
<p>Nobody needs to see this.</p>
<div class="course-choices"><p class="course-choices__kicker">Predict first</p><fieldset>
<legend class="course-choices__question">How much is 1 + 1?</legend>
<div class="course-choice" data-right="false"><input><label>three</label></div>
<div class="course-choice" data-right="true"><input><label>two</label></div>
<details class="course-choices__reveal"><summary>So</summary><div><p>Count.</p></div></details>
</fieldset></div>
<div class="course-veil"><p class="course-veil__line"><button>Show anyway</button></p>
<div class="course-veil__content"><p>It was two.</p>
<details class="course-listing"><summary>You write it</summary><div class="literal-block-wrapper">
<pre>def add(a, b):
    <span class="sd">\"\"\"Add.\"\"\"</span>
    return a + b
</pre></div></details></div></div>
</section></section></article>"""
OVERFLOWS = """() => {
  const found = [];
  for (let at = 0; at < Reveal.getTotalSlides(); at += 1) {
    Reveal.slide(at);
    const slide = Reveal.getCurrentSlide();
    const room = slide.querySelector(".slide").getBoundingClientRect();
    for (const part of slide.querySelectorAll(".part, .part *:not(svg *, .katex *)")) {
      if (!part.checkVisibility()) continue; // folded
      const { bottom, right } = part.getBoundingClientRect();
      const still = !part.closest("[data-kind=live]") && /^(PRE|TABLE)$/.test(part.tagName);
      const scrolls = still && part.scrollWidth > part.clientWidth + 1;
      if (bottom > room.bottom + 1 || right > room.right + 1 || scrolls)
        found.push(`${at + 1}: ${part.outerHTML.slice(0, 80)}`);
    }
  }
  return found;
}"""
SMALL = "masking"  # and yet with a figure that reacts, diagrams, listings, all kinds of questions
EVERY_CHAPTER = [
    pytest.param(
        name,
        marks=[in_book(name), depends_on_page(name, "scripts/slides", "tests/book/test_slides.py")]
        if name == SMALL
        else pytest.mark.proof,
    )
    for name in chapters()
]


def words(html):
    """Return the words of the text in some HTML."""
    return re.findall(r"\w+", BeautifulSoup(html, "html.parser").get_text(" "))


def test_a_question_is_followed_by_its_answer_and_prose_is_in_the_notes():
    topics = read_lecture("sums", PAGE).topics
    assert [topic.kind for topic in topics] == [
        "title", "section", "question", "answer", "section",
    ]  # fmt: skip
    title, how, question, answer, after = topics
    assert title.parts[0].html == "<p>Two numbers make one. It is <em>their</em> sum.</p>"
    assert how.parts[0].html == "<p>Take <code>a</code>. Then add this:</p>"
    assert how.parts[0].leads
    assert "Nobody needs to see this." not in "".join(part.html for part in how.parts)
    assert "Nobody needs to see this." in "".join(how.parts[-1].notes)
    assert "right" not in question.parts[1].html
    assert 'class="right"><b>B</b><div>two' in answer.parts[1].html
    assert "Count." in answer.parts[2].html
    assert after.title == "How"
    assert "return" not in after.parts[0].html, "code of homework is in the notes"
    assert "return" in after.parts[0].notes[-1]
    assert "It was two." in after.parts[0].notes[0]


def test_every_slide_of_a_topic_is_in_the_deck_with_the_notes_of_its_parts():
    lecture = read_lecture("sums", PAGE)
    placed = [[[{"part": at, "scale": 0.5}] for at in range(len(t.parts))] for t in lecture.topics]
    soup = BeautifulSoup(deck(lecture, Surroundings("", ""), placed, "ours"), "html.parser")
    slides = soup.select(".slides > section")
    assert len(slides) == sum(map(len, placed))
    assert slides[0].select_one(".course-foot").get_text() == "ours"
    assert slides[1].select_one("aside.notes").get_text().endswith("Take a. Then add this:")
    assert slides[2].select_one("aside.notes").get_text().strip() == "Nobody needs to see this."
    assert slides[2].select_one(".part")["style"] == "zoom: 0.5; --zoom: 0.5"


@in_book(SMALL)
@depends_on_page(SMALL, "scripts/slides", "tests/book/test_slides.py")
def test_all_that_a_chapter_says_is_on_a_slide_or_in_the_notes(site):
    page = (site / "book" / f"{SMALL}.html").read_text("utf-8")
    lecture = read_lecture(SMALL, page)
    parts = [part for topic in lecture.topics for part in topic.parts]
    given = {topic.title for topic in lecture.topics} | {part.html for part in parts}
    told = set(words(" ".join([*given, *(note for part in parts for note in part.notes)])))
    article = BeautifulSoup(page, "html.parser").select_one("article.bd-article > section")
    for left_out in article.select(
        "script, button, summary, .headerlink, .eqno, .course-interactive__off, "
        ".course-listing-foot, .course-veil__line, .course-choices__foot, details.hide"
    ):
        left_out.decompose()
    assert set(words(str(article))) <= told


def check_deck(chromium, site, tmp_path, name):
    """Write the deck of a chapter, check it in the browser, and return its number of slides."""
    slides = write_deck(chromium, site, name, tmp_path)
    address = (tmp_path / f"{name}.html").as_uri()
    with opened(chromium, address, viewport={"width": 1280, "height": 720}) as watched:
        page = watched.page
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        assert page.evaluate("Reveal.getTotalSlides()") == slides
        assert page.evaluate(OVERFLOWS) == []
        assert page.locator(".part").count() > slides
        figures = page.locator(".course-interactive").count()
        assert page.locator(".course-interactive .is-live").count() == figures
        page.keyboard.press("n")
        page.locator(".reveal.show-notes").wait_for()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("Reveal.getState().indexh === 1")
    return slides


def check_print(chromium, tmp_path, name, slides):
    """Print the deck of a chapter, and check the numbers of pages, without notes and with them."""
    print_deck(chromium, tmp_path / f"{name}.html")
    pages = [
        len(re.findall(rb"/Type /Page\b", (tmp_path / f"{name}{kind}.pdf").read_bytes()))
        for kind in ("", "-notes")
    ]
    assert pages[0] == slides < pages[1]


@pytest.mark.browser
@pytest.mark.parametrize("name", EVERY_CHAPTER)
def test_a_deck_stands_alone_and_a_slide_is_a_page_of_the_pdf(chromium, site, tmp_path, name):
    """Nothing runs over a slide, and notes are pages between those of the slides."""
    check_print(chromium, tmp_path, name, check_deck(chromium, site, tmp_path, name))
