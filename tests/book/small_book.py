"""A book of a few pages with the real configuration."""

from pathlib import Path

import pytest
import yaml

from tests.book import builds

ROOT = Path(__file__).parents[2]
SOURCES = ("_ext", "_static", "_templates", "references.bib")
depends_on_small_book = pytest.mark.depends_on(
    *(f"book/{name}" for name in SOURCES), "_config.yml", "course_lib", "tests/book/*.py"
)
BASE = "https://course.example.org/book-site"
REPOSITORY = "https://github.com/some-school/the-course"
# begins a page whose code is run
WITH_CODE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

"""
PAGES = {
    "intro": WITH_CODE
    + """# A <small> chapter

The {term}`loss` is what *training* lowers, as {cite:t}`vaswani2017attention` do.
A {term}`loss` again.

## A section

```{code-cell} ipython3
print(1 + 1)
```
""",
    "glossary": """# Glossary

```{glossary}
loss
: How wrong a model is, in nats; see {doc}`intro`. For two tokens $-\\log p$.
```
""",
    "citations": WITH_CODE
    + "# Citations\n\n{cite:t}`mikolov2013distributed` and {cite:p}`mikolov2013efficient`; "
    "{cite:t}`mikolov2010recurrent`.\n",
    "coins": """# Coins

```{predict}
:label: predict-coin
Heads how often?

- [ ] never, with $p = 0$
- [x] half the time, with $p = 1/2$
- [ ] always

It comes in half of all throws.
```

That is what fairness means, as {doc}`glossary` would say.

(proof-of-it)=
Here is the proof of it.

## Sums

```{quiz}
:label: quiz-sum
How much is $1 + 1$?

- [ ] one, $1$
      > Add $1$ to it: count once more.
- [x] two, $2$
      > Two is what $1 + 1$ gives.
- [ ] three
      > Take $1$ from it: it is one too many.
```

```{quiz}
:label: quiz-even
Which numbers are even?

- [x] two
      > It is twice one.
- [ ] three
      > It is no double of anything.
- [x] four
      > It is twice two.
```
""",
    "bibliography": "# Bibliography\n\n```{bibliography}\n```\n",
}


def write_small_book(
    folder: Path, *, base: str = "", repository: str = "", **services: str
) -> None:
    """Write the sources of the small book, whose code is not run, into a new folder.

    Args:
        folder: The folder.
        base: Address of the published site; empty for none.
        repository: Address of the repository; empty for none.
        services: Addresses of ``launch_buttons``, such as ``colab_url``.
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["html"]["baseurl"] = base
    config["repository"]["url"] = repository
    config["launch_buttons"] |= services
    config["execute"]["execute_notebooks"] = "off"
    toc = {"format": "jb-book", "root": "book/intro"}
    toc["chapters"] = [{"file": f"book/{name}"} for name in PAGES if name != "intro"]

    (folder / "book").mkdir(parents=True)
    for name in SOURCES:
        (folder / "book" / name).symlink_to(ROOT / "book" / name)
    (folder / "course_lib").symlink_to(ROOT / "course_lib")
    (folder / "_config.yml").write_text(yaml.safe_dump(config))
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
    for name, text in PAGES.items():
        (folder / "book" / f"{name}.md").write_text(text)


def run_jupyter_book(folder: Path, *options: str) -> tuple[int, str]:
    """Build the book of a folder with warnings as errors; return the exit status and the output."""
    return builds.Build("jupyter-book", "build", ".", "-W", "-n", *options, folder=folder).wait()


def build_small_book(folder: Path, **published: str) -> Path:
    """Write and build the small book, and return the folder of its pages.

    ``published`` are arguments of ``write_small_book``.
    """
    write_small_book(folder, **published)
    status, log = run_jupyter_book(folder)
    assert status == 0, log[-5000:]
    return folder / "_build" / "html"
