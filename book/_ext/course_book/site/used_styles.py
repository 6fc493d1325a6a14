"""A stylesheet without the rules that no page of the book can use.

A selector is kept if each class and each id in it occurs as a word in some page or script: what a
script switches on, it has to name. Selectors of elements, attributes and states are kept, and so is
what stands within ``:not()`` and its like.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Set

import tinycss2
from tinycss2.ast import (
    AtRule,
    Comment,
    HashToken,
    IdentToken,
    LiteralToken,
    Node,
    QualifiedRule,
    WhitespaceToken,
)

_NESTED = ("media", "supports", "layer", "container")
_WORD = re.compile(r"[A-Za-z_][\w-]*")


def words_of(texts: Iterable[str]) -> set[str]:
    """Return all words of pages and scripts, and so all classes and ids that they can have.

    Args:
        texts: HTML and JavaScript.
    """
    return {word for text in texts for word in _WORD.findall(text)}


def used_rules(stylesheet: str, words: Set[str]) -> str:
    """Return a stylesheet without the selectors that name a class or an id that never occurs.

    Args:
        stylesheet: CSS.
        words: All classes and ids that occur, and any other words.

    Returns:
        CSS, with the rules that are left in the same order.
    """
    rules = tinycss2.parse_stylesheet(stylesheet, skip_comments=True, skip_whitespace=True)
    return "".join(_kept(rules, words))


def _kept(rules: Iterable[Node], words: Set[str]) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            selectors = [s for s in _split(rule.prelude) if _names(s) <= words]
            if selectors:
                chosen = ",".join(tinycss2.serialize(selector).strip() for selector in selectors)
                yield f"{chosen}{{{tinycss2.serialize(rule.content)}}}"
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in _NESTED and rule.content:
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            inside = "".join(_kept(inner, words))
            if inside:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
        else:
            yield rule.serialize()


def _split(prelude: list[Node]) -> list[list[Node]]:
    """Split a list of selectors at its commas."""
    selectors: list[list[Node]] = [[]]
    for node in prelude:
        if isinstance(node, LiteralToken) and node.value == ",":
            selectors.append([])
        elif not isinstance(node, Comment):
            selectors[-1].append(node)
    return [s for s in selectors if not all(isinstance(n, WhitespaceToken) for n in s)]


def _names(selector: list[Node]) -> set[str]:
    """Return the classes and ids that an element must have for a selector to hold."""
    found = {node.value for node in selector if isinstance(node, HashToken)}
    for dot, name in itertools.pairwise(selector):
        if isinstance(dot, LiteralToken) and dot.value == "." and isinstance(name, IdentToken):
            found.add(name.value)
    return found
