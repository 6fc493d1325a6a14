import pytest

from autograder.homework_source.book_links import find_headings

CHAPTER = """\
---
jupytext: 1
---

(small)=
# Small things

(start)=
## Where it starts

(formula)=
## Why $x^2$ and $\\sqrt{d_k}$, *always*?

(hard-formula)=
## What is $\\frac{1}{2}$?

(linked)=
## See [there](elsewhere.md)

(code-name)=
### The `double` of it

(bold)=
**Bold.** No heading.

## Where it starts no more
"""


@pytest.mark.parametrize(
    ("read", "headings"),
    [
        ("small#start", ("Small things", "Where it starts")),
        ("small", ("Small things", "")),
        ("small#formula", ("Small things", "Why x^2 and √d_k, always?")),
        ("small#hard-formula", ("Small things", "Hard formula")),
        ("small#linked", ("Small things", "Linked")),
        ("small#code-name", ("Small things", "The double of it")),
        ("small#bold", ("Small things", "Bold")),
        ("small#gone-since", ("Small things", "Gone since")),
        ("never-written#start", ("Never written", "Start")),
    ],
)
def test_headings_are_the_books_and_else_names_in_words(tmp_path, read, headings):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "small.md").write_text(CHAPTER, encoding="utf-8")
    assert find_headings(read, tmp_path) == headings
