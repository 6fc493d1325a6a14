"""Roles that refer to a chapter outside the table of contents become words."""

from types import SimpleNamespace

import pytest
from course_book.notebooks.page_references import PageReferences
from docutils import nodes


@pytest.fixture
def page():
    standard = {
        "labels": {"masks": ("book/masking", "masks", "Masks")},
        "anonlabels": {"cell-1": ("book/masking", "cell-1")},
    }
    env = SimpleNamespace(
        titles={"book/masking": nodes.title("", "Masking")},
        domaindata={"std": standard},
        toc_fignumbers={"book/masking": {"figure": {"cell-1": (3,)}}},
        config=SimpleNamespace(html_baseurl="https://example.org/"),
    )
    return PageReferences(env, "book/bert")


@pytest.mark.parametrize(
    ("role", "there", "left_out"),
    [
        ("doc", "[*Masking*](https://example.org/book/masking.html)", "*bleu*"),
        ("ref", "[*Masks*](https://example.org/book/masking.html#masks)", "*bleu*"),
        ("numref", "[Figure 3](https://example.org/book/masking.html#cell-1)", "bleu"),
    ],
)
def test_a_missing_target_is_named_and_not_linked(page, role, there, left_out):
    target = {"doc": "masking", "ref": "masks", "numref": "cell-1"}[role]
    assert page.role(role, target) == there
    assert page.role(role, "bleu") == left_out
    assert page.role(role, "that score <bleu>") == "that score"
