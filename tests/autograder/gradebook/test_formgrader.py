"""formgrader, unchanged, on a course that we graded: it lists, it shows, and nothing in it runs."""

import dataclasses
import json

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.utils import compute_checksum
from traitlets.config import Config

from autograder.gradebook.course_config import write_course_config
from autograder.gradebook.inert_markup import inert_markup, make_inert
from autograder.homework_source.homework import CellKind
from autograder.homework_source.nbgrader_settings import configure
from autograder.judging.results import CellOutput, Status, SubmissionResult
from tests.autograder.conftest import ROOT, notebook
from tests.autograder.gradebook.formgrader import running_formgrader
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.gradebook.test_gradebook import HOMEWORK, hand_in, result_of
from tests.autograder.judging.test_outputs import PNG
from tests.homework.tables import load_homework, solved_notebook
from tests.processor_time import limited_to

ATTACK = "fetch('/api/contents/stolen',{method:'PUT'});window.attacked=1;alert(1)"
MARKUP = f"""<script>{ATTACK}</script> <img src=x onerror="{ATTACK}"> <svg/onload="{ATTACK}">
[link](javascript:{ATTACK}) [entity](&#106;avascript:alert(1)) ![pixel](http://evil.example/p.png)
[a][b] <iframe src="//evil.example"></iframe> $\\href{{javascript:alert(1)}}{{formula}}$

[b]: javascript:alert(1)
<!-- <a href="x"> --> ``` <b onmouseover="{ATTACK}"> ```"""


def saying(text: str, result: SubmissionResult) -> SubmissionResult:
    """Return a copy of the result with ``text`` in every field that a student's code can fill."""
    told = {"message": text, "hint": text, "traceback": text}
    checks = tuple(dataclasses.replace(check, **told) for check in result.checks)
    shown = (CellOutput(cell="extra cell 1", text=text), CellOutput(cell="extra cell 1", png=PNG))
    return dataclasses.replace(result, checks=checks, outputs=shown)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a graded course with an honest student and one whose markup attacks every page."""
    folder = tmp_path_factory.mktemp("graded")
    homework = load_homework(HOMEWORK)
    written = next(c.grade_id for c in homework.checks if c.kind is CellKind.WRITTEN)
    solution = next(c.grade_id for c in homework.cells if c.kind is CellKind.SOLUTION)
    magic = "%%R\nnot_in_colours <- TRUE"
    hostile = json.loads(notebook((solution, f"# {MARKUP}"), f"print({MARKUP!r})", magic))
    answer = {"nbgrader": {"grade_id": written}, "tags": [MARKUP], "collapsed": MARKUP}
    hostile["cells"] += [
        {"cell_type": "markdown", "metadata": answer, "source": MARKUP, "attachments": {}},
        {"cell_type": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": MARKUP},
        {"cell_type": "markdown", "metadata": {}, "source": MARKUP},
    ]
    hostile["metadata"] = {"title": MARKUP, "widgets": {"x": MARKUP}}
    hand_in(folder / "class", "ada", solved_notebook(HOMEWORK))
    hand_in(folder / "class", "eve", json.dumps(hostile).encode())
    results = [
        result_of(homework, "ada", {0: (Status.FAIL, 0.0)}),
        saying(MARKUP, result_of(homework, "eve", {0: (Status.FAIL, 0.0)})),
    ]
    record_in_gradebook(results, folder / "class", homework, course_folder=folder / "nbgrader")
    write_course_config(folder / "nbgrader", ROOT)
    return folder / "nbgrader"


@pytest.fixture(scope="module")
def formgrader(course, tmp_path_factory):
    with running_formgrader(course, tmp_path_factory.mktemp("home")) as address:
        yield address


# formgrader takes no grade before MathJax, which it gets from another host, has said that it is
# ready. There is no other host here: this says so in its place.
MATHJAX = """window.MathJax = {Hub: {
    Config() {}, Queue() {}, Startup: {signal: {Interest(hear) { hear("End"); }}}}};"""


@pytest.fixture
def page(chromium):
    page = chromium.new_page()
    page.set_default_timeout(300_000)
    page.add_init_script(MATHJAX)
    yield page
    page.close()


def open_submission(formgrader, page, student: str) -> list[str]:
    """Open the page on which a TA grades a student by hand.

    Return its requests to other hosts or that change something, and the dialogs that it opened.
    """
    asked = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    address = formgrader.format(f"api/submitted_notebooks/{HOMEWORK}/{HOMEWORK}")
    listed = page.request.get(address).json()
    identity = next(entry["id"] for entry in listed if entry["student"] == student)
    page.goto(formgrader.format(f"submissions/{identity}/"), wait_until="load")
    page.locator("textarea.comment").first.wait_for()
    page.wait_for_timeout(500)
    own = formgrader.split("/formgrader")[0]
    return [line for line in asked if own not in line or not line.startswith("GET")]


@pytest.mark.proof
@pytest.mark.browser
def test_submission_shows_the_judges_messages_and_takes_a_grade(formgrader, page, course):
    open_submission(formgrader, page, "ada")
    assert "words" in page.locator(".output_error").first.inner_text()
    scores = page.locator("input.score")
    # formgrader fills them in when the gradebook has answered
    page.wait_for_function("document.querySelector('input.score').placeholder === '0'")
    with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
        scores.last.fill("2")
        scores.last.blur()
    assert saved.value.ok


@pytest.mark.browser
def test_students_are_listed_and_their_text_is_shown_without_being_run(formgrader, page, course):
    page.goto(formgrader.format("manage_students"))
    page.locator("td.id", has_text="eve").wait_for()
    assert page.locator("td.id", has_text="ada").is_visible()
    page.goto(formgrader.format(f"gradebook/{HOMEWORK}/{HOMEWORK}"))
    page.get_by_role("link", name="Submission #1").wait_for()
    assert page.get_by_role("link", name="Submission #2").is_visible()
    asked = open_submission(formgrader, page, "eve")
    # nbconvert's own pages ask for MathJax and RequireJS
    foreign = [line for line in asked if "cdnjs.cloudflare.com" not in line]
    assert not [line for line in foreign if "evil" in line or not line.startswith("GET")]
    assert page.evaluate("window.attacked") is None
    inside = page.locator("#notebook-container").first
    text = inside.inner_text()
    assert text.replace("\u2060", "").count("<script>fetch(") >= 4  # answer, code, message, output
    assert inside.locator(".output_stream").first.inner_text().startswith("<script>")
    assert inside.locator("img").evaluate_all("all => all.map(a => a.src.slice(0, 15))") == [
        "data:image/png;"
    ]
    cell = inside.locator(".highlight", has_text="not_in_colours")
    assert cell.locator("span.kc").count() == 0  # a constant of R
    for tag in ("script", "iframe", "svg", "[onerror]", "[onload]", "[onmouseover]"):
        assert inside.locator(tag).count() == 0, tag
    links = inside.locator("a[href]").evaluate_all("all => all.map(a => a.href)")
    assert not [link for link in links if not link.startswith("http")]
    assert not list(course.parent.rglob("stolen"))


def test_the_homework_and_ordinary_answers_stay_unchanged():
    solved = nbformat.reads(solved_notebook(HOMEWORK).decode(), as_version=4)
    instructors = {cell.source for cell in solved.cells}
    text = "For $a < b$ and `x[i] = y`, see *there*: (1) 2 <= 3, a -> b.\n\n| a | b |\n|---|---|\n"
    forged = nbformat.v4.new_markdown_cell(MARKUP, metadata={"nbgrader": {"grade_id": "read-me"}})
    forged.metadata.nbgrader["checksum"] = compute_checksum(forged)
    solved.cells += [nbformat.v4.new_markdown_cell(words) for words in (text, "a b " * 4_000)]
    sources = [cell.source for cell in solved.cells]
    solved.cells.append(forged)
    make_inert(solved, instructors)
    assert [cell.source for cell in solved.cells] == [*sources, inert_markup(MARKUP)]
    assert "language_info" not in solved.metadata


@pytest.mark.parametrize(
    "cells",
    [
        [nbformat.v4.new_code_cell("a." * 100_000)],
        [nbformat.v4.new_code_cell("\n " * 5_000) for _ in range(30)],
        [nbformat.v4.new_markdown_cell("\\begin{a}" * 10_000) for _ in range(20)],
        [nbformat.v4.new_markdown_cell("\\begin{a}" * 100) for _ in range(1_000)],
        [nbformat.v4.new_code_cell("%%R\n'" + "a" * 30_000)],
        [nbformat.v4.new_code_cell(f"%%perl\nm{'{' * 900}") for _ in range(200)],
    ],
    ids=["one code cell", "code cells", "long notes", "notes", "another language", "languages"],
)
def test_no_cell_keeps_formgrader_busy(cells):
    """nbconvert takes more than twice as long for a text of twice the length."""
    made = nbformat.v4.new_notebook(cells=cells)
    make_inert(made, set())
    config = Config()
    configure(config)
    with limited_to(seconds=40):
        page, _ = HTMLExporter(config=config).from_notebook_node(made)
    assert len(page) > 100_000
    if cells[0].cell_type == "code":
        assert made.cells == cells


@pytest.mark.parametrize(
    "text",
    [
        r"$\mmlToken{mglyph}[src='http://host/seen.png']{}$",
        r"$\bbox[url(x)]{y}$",
        r"$\cancel[style=x]{y}$",
        r"$\smash{\rlap{x}}$",
        r"$\raise{25em}{x}$",
        r"$\Rule{70em}{20em}{0em}$",
        r"$\hspace{-9em}x$",
        r"$\def\sum{x}$",
        r"$\begin{array}{c}a\\[-20em]b\end{array}$",
        r"$\begin{array}{c}a\\* [-20em]b\end{array}$",
        "```autoit\n \n```",
        "~~~ mermaid\nx\n~~~",
    ],
)
def test_harmful_tex_and_block_languages_are_broken(text):
    assert inert_markup(text).replace("\u2060", "") == text != inert_markup(text)
    harmless = (
        r"$\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V_{ij} \in \mathbb{R}$ and"
        r"$$\begin{aligned}a &= b\\c &\leq \boldsymbol{\theta}_{\text{max}}\end{aligned}$$"
    ) + "\n\n```\nx = 1\n```\n"
    assert inert_markup(harmless) == harmless
