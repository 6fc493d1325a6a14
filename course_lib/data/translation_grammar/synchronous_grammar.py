"""Synchronous grammars: rules that generate two languages at once.

A rule builds a phrase of the source language and one of the target language from the same smaller
phrases, so each derivation gives a sentence and its translation. Phrases have features, such as
``NounPhrase[person,plural]``; a rule whose features are variables stands for one ground rule for
each combination of their values.
"""

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from course_lib.data.translation_grammar.surface_form import Language, Word


class Category(NamedTuple):
    """A kind of phrase, with the feature values that the rules ask for.

    >>> Category("NounPhrase", ("person", "plural")).features
    ('person', 'plural')
    """

    name: str
    features: tuple[str, ...] = ()

    @classmethod
    def read(cls, notation: str) -> "Category":
        """Read ``Name[feature,feature]``; another notation raises a ``ValueError``.

        >>> Category.read("NounPhrase[person,plural]")
        Category(name='NounPhrase', features=('person', 'plural'))
        """
        match = re.fullmatch(r"(\w+)\[([^][]*)\]", notation)
        if match is None:
            raise ValueError(f"a category must be written Name[feature,...], got {notation!r}")
        return cls(match[1], tuple(filter(None, match[2].split(","))))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A grammar rule: the parts of a phrase in both languages.

    Items, separated by spaces, are words (``le/l'`` if the form changes before a vowel) and
    categories. ``links`` and ``binds`` are pairs ``item=item``; there a word is named by its form
    before a consonant, a category by its name without features.

    >>> rule = Rule(parent="Question[]", src="Sentence[] ?", tgt="est-ce que/qu' Sentence ?")
    >>> rule.weight
    1.0

    Attributes:
        parent: The category of the phrase.
        src: Its items in the source language; categories with their features.
        tgt: Its items in the target language: the same categories, by name, and words.
        links: Pairs of a source item and a target item that are translations of each other; a
            category stands for the first word in it that agrees with its subject.
        head: The item whose head word is the head of the phrase; not needed if there is one item.
        src_agrees: The source word that agrees with the phrase's subject.
        tgt_agrees: The target word that agrees with the phrase's subject.
        agrees_in_gender: Whether these two words agree in gender too, as adjectives do.
        binds: Pairs of an item and the item that it agrees with.
        deepens: Whether the rule nests a noun phrase in a noun phrase.
        weight: Its probability is proportional to this, among the rules for the same phrase.
    """

    parent: str
    src: str
    tgt: str
    links: str = ""
    head: str = ""
    src_agrees: str = ""
    tgt_agrees: str = ""
    agrees_in_gender: bool = False
    binds: str = ""
    deepens: bool = False
    weight: float = 1.0


def read_rules(notation: str) -> tuple[Rule, ...]:
    """Read rules: a line with the parent, then a field of ``Rule`` on each indented line.

    A line with a deeper indentation continues the field before it.
    """
    rules: list[dict[str, Any]] = []
    for line in notation.strip().split("\n"):
        match = re.fullmatch(r"    ([a-z_]+)\b *(.*)", line)
        if match is not None:
            last = match[1]
            rules[-1][last] = match[2]
        elif line.startswith(" "):
            rules[-1][last] += f" {line.strip()}"
        else:
            rules.append({"parent": line})
    for fields in rules:
        fields["weight"] = float(fields.get("weight", 1))
        fields["deepens"] = "deepens" in fields
    return tuple(Rule(**fields) for fields in rules)


@dataclass(frozen=True, eq=False)
class GroundRule:
    """A rule with a value for each variable.

    >>> rule = Rule(parent="Name[number]", src="Ada", tgt="Ada")
    >>> ada = (Word("Ada"),)
    >>> GroundRule(rule, Category.read("Name[singular]"), ada, ada, ()).parent.features
    ('singular',)

    Attributes:
        rule: The rule.
        parent: The category of the phrase.
        src: Words and categories in the source language.
        tgt: Words, and for each category its index in ``children``, in the target language.
        children: The categories in ``src``, in order.
    """

    rule: Rule
    parent: Category
    src: tuple[Word | Category, ...]
    tgt: tuple[Word | int, ...]
    children: tuple[Category, ...]


@dataclass(frozen=True, eq=False)
class Derivation:
    """A ground rule with a derivation for each of its children.

    >>> grammar_rule = GroundRule(Rule(parent="S[]", src="it", tgt="il"), Category("S"), (), (), ())
    >>> Derivation(grammar_rule).depth
    0
    """

    rule: GroundRule
    children: tuple["Derivation", ...] = ()

    @cached_property
    def depth(self) -> int:
        """Nesting of noun phrases in noun phrases, 0 for none."""
        below = max((child.depth for child in self.children), default=0)
        return below + self.rule.rule.deepens


@dataclass
class _Prefix:
    """A node of a prefix tree over the source items of all rules.

    Attributes:
        following: For each possible next item, a word's text or a category, the node after it.
        rules: The rules whose source side ends here.
    """

    following: dict[str | Category, "_Prefix"] = field(default_factory=dict)
    rules: list[GroundRule] = field(default_factory=list)


class SynchronousGrammar:
    """Rules that derive sentences and their translations, to draw and to parse.

    >>> plain = Language(vowels="", exceptions=frozenset(), contractions={})
    >>> rules = [
    ...     Rule(parent="S[]", src="the Noun[] sleeps", tgt="Noun dort"),
    ...     Rule(parent="Noun[]", src="cat", tgt="le chat"),
    ... ]
    >>> grammar = SynchronousGrammar(rules, start="S", features={}, src_language=plain)
    >>> len(grammar.parse("the cat sleeps".split())), len(grammar.parse("the sleeps cat".split()))
    (1, 0)

    Args:
        rules: The rules. No source side may be empty, or begin with its own category.
        start: Name of the category of sentences, which has no features.
        features: The values of each variable; ``kind2`` is another variable with those of ``kind``.
        src_language: The rules for neighbouring words of the source language.

    Attributes:
        rules: The ground rules that occur in derivations of sentences.

    Raises:
        ValueError: A rule is malformed, or no sentence can be derived.

    Source: Aho and Ullman (1969) for the formalism; chapter "Sequence to sequence".
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        start: str,
        features: Mapping[str, Sequence[str]],
        src_language: Language,
    ) -> None:
        self._src_language = src_language
        self._start = Category(start)
        ground = [each for rule in rules for each in _ground(rule, features)]
        self._least_depth = _least_depths(ground)
        if self._start not in self._least_depth:
            raise ValueError(f"rules must derive a sentence, none derives {start!r}")
        productive = [
            rule for rule in ground if all(child in self._least_depth for child in rule.children)
        ]
        self._rules_of = _reachable(productive, self._start)
        self.rules = tuple(rule for rules in self._rules_of.values() for rule in rules)
        self._choices: dict[tuple[Category, int], tuple[list[GroundRule], list[float]]] = {}
        self._prefixes = _Prefix()
        self._listed: dict[str, str] = {}
        for rule in self.rules:
            node = self._prefixes
            for item in rule.src:
                key = item.text if isinstance(item, Word) else item
                node = node.following.setdefault(key, _Prefix())
                if isinstance(item, Word) and item.before_vowel is not None:
                    self._listed[item.before_vowel] = item.text
            node.rules.append(rule)

    def draw(self, dice: random.Random, *, max_depth: int) -> Derivation:
        """Return a random derivation of a sentence.

        ``max_depth`` limits the nesting of noun phrases; if it allows no sentence, raise a
        ``ValueError``.
        """
        least = self._least_depth[self._start]
        if max_depth < least:
            raise ValueError(f"max_depth must be at least {least}, got {max_depth}")
        return self._draw(self._start, dice, max_depth)

    def parse(self, words: Sequence[str]) -> list[Derivation]:
        """Return all derivations of a source sentence; its words may be contracted or elided."""
        listed = [self._listed.get(word, word) for word in words]
        # chart[start][category]: the end and the derivation of each phrase that begins at start.
        chart: list[defaultdict[Category, list[tuple[int, Derivation]]]]
        chart = [defaultdict(list) for _ in range(len(words) + 1)]

        def extend(node: _Prefix, start: int, end: int, children: tuple[Derivation, ...]) -> None:
            for rule in node.rules:
                phrase = Derivation(rule, children)
                chart[start][rule.parent].append((end, phrase))
                if rule.parent in self._prefixes.following:
                    extend(self._prefixes.following[rule.parent], start, end, (phrase,))
            if end == len(words) or not node.following:
                return
            if listed[end] in node.following:
                extend(node.following[listed[end]], start, end + 1, children)
            for category in chart[end].keys() & node.following.keys():
                for next_end, phrase in chart[end][category]:
                    extend(node.following[category], start, next_end, (*children, phrase))

        for start in reversed(range(len(words))):
            if listed[start] in self._prefixes.following:
                extend(self._prefixes.following[listed[start]], start, start + 1, ())
        readings = [phrase for _, phrase in chart[0][self._start]]
        return [phrase for phrase in readings if self.write_source(phrase) == tuple(words)]

    def write_source(self, derivation: Derivation) -> tuple[str, ...]:
        """Return a derivation's source sentence, with contractions and forms before vowels."""
        return self._src_language.write(list(_src_words(derivation)))[0]

    def _draw(self, category: Category, dice: random.Random, depth: int) -> Derivation:
        """Return a random derivation of a phrase in which nouns are nested at most ``depth``."""
        key = (category, depth)
        if key not in self._choices:
            rules = [
                rule
                for rule in self._rules_of[category]
                if all(self._least_depth[c] <= depth - rule.rule.deepens for c in rule.children)
            ]
            # A rule's weight is divided among its ground rules: features don't make it likelier.
            number = Counter(rule.rule for rule in rules)
            shares = [rule.rule.weight / number[rule.rule] for rule in rules]
            self._choices[key] = rules, list(itertools.accumulate(shares))
        rules, cumulated = self._choices[key]
        [rule] = dice.choices(rules, cum_weights=cumulated)
        below = depth - rule.rule.deepens
        return Derivation(rule, tuple(self._draw(child, dice, below) for child in rule.children))


def _src_words(derivation: Derivation) -> Iterator[Word]:
    """Yield the source words of a derivation."""
    children = iter(derivation.children)
    for item in derivation.rule.src:
        if isinstance(item, Word):
            yield item
        else:
            yield from _src_words(next(children))


def _ground(rule: Rule, features: Mapping[str, Sequence[str]]) -> Iterator[GroundRule]:
    """Yield a ground rule for each combination of values of a rule's variables."""
    parent = Category.read(rule.parent)
    src = [Category.read(i) if "[" in i else Word.read(i) for i in rule.src.split()]
    children = [item for item in src if isinstance(item, Category)]
    names = [child.name for child in children]
    tgt = [names.index(i) if i in names else Word.read(i) for i in rule.tgt.split()]
    places = [item for item in tgt if isinstance(item, int)]
    words = [[i.text for i in side if isinstance(i, Word)] for side in (src, tgt)]
    if not src or len(set(names)) < len(names) or sorted(places) != list(range(len(names))):
        raise ValueError(
            f"src and tgt must hold the same categories, each once, got {rule.src!r} and "
            f"{rule.tgt!r}"
        )
    if any(len(set(side)) < len(side) for side in words):
        raise ValueError(f"a rule must hold no word twice, got {rule.src!r} and {rule.tgt!r}")
    for pair in f"{rule.links} {rule.binds}".split():
        for name in pair.split("="):
            if name not in {*names, *words[0], *words[1]}:
                raise ValueError(f"links and binds must name items, got {pair!r}")

    used = {feature for category in (parent, *children) for feature in category.features}
    variables = sorted(name for name in used if name.rstrip("0123456789") in features)
    domains = [features[name.rstrip("0123456789")] for name in variables]
    for values in itertools.product(*domains):
        value_of = dict(zip(variables, values, strict=True))

        def fill(category: Category, value_of: Mapping[str, str] = value_of) -> Category:
            return Category(category.name, tuple(value_of.get(f, f) for f in category.features))

        filled = tuple(fill(item) if isinstance(item, Category) else item for item in src)
        yield GroundRule(
            rule=rule,
            parent=fill(parent),
            src=filled,
            tgt=tuple(tgt),
            children=tuple(item for item in filled if isinstance(item, Category)),
        )


def _least_depths(rules: Sequence[GroundRule]) -> dict[Category, int]:
    """Return for each category that has a derivation the smallest nesting that it needs."""
    least: dict[Category, int] = {}
    changed = True
    while changed:
        changed = False
        for rule in rules:
            if all(child in least for child in rule.children):
                depth = max((least[child] for child in rule.children), default=0)
                depth += rule.rule.deepens
                if depth < least.get(rule.parent, depth + 1):
                    least[rule.parent] = depth
                    changed = True
    return least


def _reachable(rules: Sequence[GroundRule], start: Category) -> dict[Category, list[GroundRule]]:
    """Return the rules for each category that occurs in derivations of ``start``."""
    rules_of: defaultdict[Category, list[GroundRule]] = defaultdict(list)
    for rule in rules:
        rules_of[rule.parent].append(rule)
    reached = {start: rules_of[start]}
    agenda = [start]
    while agenda:
        for rule in reached[agenda.pop()]:
            for child in rule.children:
                if child not in reached:
                    reached[child] = rules_of[child]
                    agenda.append(child)
    return reached
