"""Realization: from a derivation to its words in both languages, alignment and agreements."""

from dataclasses import dataclass, field
from functools import cache

from course_lib.data.translation_grammar.sentence_pair import Agreement, SentencePair
from course_lib.data.translation_grammar.surface_form import Language, Word
from course_lib.data.translation_grammar.synchronous_grammar import Derivation

SRC, TGT = 0, 1


@dataclass(frozen=True, eq=False)
class _Leaf:
    """One occurrence of a word, and whether it agrees in gender, not only in number."""

    word: Word
    agrees_in_gender: bool = False


@dataclass(frozen=True)
class _Noun:
    """Number and gender of a noun, with which other words agree."""

    number: str
    gender: str


@dataclass
class _Side:
    """A phrase in one language.

    Attributes:
        leaves: Its words in order.
        head: Its head word, with which other words agree, if it has one.
        open: Words in it that agree with a word outside it.
    """

    leaves: list[_Leaf] = field(default_factory=list)
    head: _Leaf | None = None
    open: list[_Leaf] = field(default_factory=list)


@dataclass
class _Notes:
    """Links, nouns and agreements found in a sentence so far.

    Attributes:
        links: Pairs of a source word and a target word that correspond.
        nouns: The nouns of both languages with their features.
        agreements: For the source and for the target: pairs of a word and the word it agrees with.
    """

    links: list[tuple[_Leaf, _Leaf]] = field(default_factory=list)
    nouns: dict[_Leaf, _Noun] = field(default_factory=dict)
    agreements: tuple[list[tuple[_Leaf, _Leaf]], ...] = field(default_factory=lambda: ([], []))


def realize(derivation: Derivation, src_language: Language, tgt_language: Language) -> SentencePair:
    """Return the sentence of a derivation, its translation, alignment and agreements.

    The category of nouns must be named ``Noun``, with number and gender as its last two features.
    """
    notes = _Notes()
    sides = _put_together(derivation, notes)
    written: list[tuple[str, ...]] = []
    places: list[dict[_Leaf, int]] = []
    for side, language in zip(sides, (src_language, tgt_language), strict=True):
        words, positions = language.write([leaf.word for leaf in side.leaves])
        written.append(words)
        places.append(dict(zip(side.leaves, positions, strict=True)))
    return SentencePair(
        src=written[SRC],
        tgt=written[TGT],
        alignment=tuple(sorted({(places[SRC][i], places[TGT][j]) for i, j in notes.links})),
        src_agreements=_locate(notes, SRC, places[SRC]),
        tgt_agreements=_locate(notes, TGT, places[TGT]),
        depth=derivation.depth,
    )


def _put_together(derivation: Derivation, notes: _Notes) -> tuple[_Side, _Side]:
    """Return a phrase in both languages; add its links, nouns and agreements to ``notes``."""
    ground, rule = derivation.rule, derivation.rule.rule
    children = [_put_together(child, notes) for child in derivation.children]
    phrase = _Side(), _Side()
    # For each language the word or the phrase of each item of the rule, by the item's name.
    items: tuple[dict[str, _Leaf | _Side], ...] = {}, {}
    for language, side, parts in ((SRC, phrase[SRC], ground.src), (TGT, phrase[TGT], ground.tgt)):
        numbers = iter(range(len(children)))
        for part in parts:
            if isinstance(part, Word):
                leaf = _Leaf(part, rule.agrees_in_gender)
                side.leaves.append(leaf)
                items[language][part.text] = leaf
            else:
                number = part if isinstance(part, int) else next(numbers)
                child = children[number][language]
                side.leaves += child.leaves
                items[language][ground.children[number].name] = child

    # Bind the words that agree; the others stay open, to agree with a word outside this phrase.
    for language, side in enumerate(phrase):
        agrees = (rule.src_agrees, rule.tgt_agrees)[language]
        bound = {name: other for name, other in _pairs(rule.binds) if other in items[language]}
        for name, item in items[language].items():
            open_here = item.open if isinstance(item, _Side) else [item] * (name == agrees)
            if name in bound:
                controller = _head(items[language][bound[name]])
                word_open = [item] if isinstance(item, _Leaf) else open_here
                notes.agreements[language].extend((leaf, controller) for leaf in word_open)
            else:
                side.open += open_here
        head = items[language].get(rule.head)
        if len(items[language]) == 1:
            [head] = items[language].values()
        side.head = head.head if isinstance(head, _Side) else head
    for src_name, tgt_name in _pairs(rule.links):
        notes.links.append((_first_open(items[SRC][src_name]), _first_open(items[TGT][tgt_name])))
    if ground.parent.name == "Noun":
        number_and_gender = _Noun(*ground.parent.features[-2:])
        notes.nouns |= {_head(side): number_and_gender for side in phrase}
    return phrase


@cache
def _pairs(notation: str) -> tuple[tuple[str, ...], ...]:
    """Read pairs ``item=item``, separated by spaces."""
    return tuple(tuple(pair.split("=")) for pair in notation.split())


def _head(item: _Leaf | _Side) -> _Leaf:
    head = item if isinstance(item, _Leaf) else item.head
    assert head is not None, "the rules bind words to phrases that have a head"
    return head


def _first_open(item: _Leaf | _Side) -> _Leaf:
    """Return a word itself, or the first word in a phrase that agrees with a word outside."""
    return item if isinstance(item, _Leaf) else item.open[0]


def _locate(notes: _Notes, language: int, places: dict[_Leaf, int]) -> tuple[Agreement, ...]:
    """Return the agreements in a language (``SRC`` or ``TGT``); ``places`` are words' positions.

    Attractors are the nouns between the word and its controller that differ in the features that
    the word agrees in.
    """
    located = []
    for leaf, controller in notes.agreements[language]:
        word, place = places[leaf], places[controller]
        first, last = sorted((word, place))
        own = notes.nouns.get(controller)
        attractors = {
            places[noun]
            for noun, features in notes.nouns.items()
            if own is not None
            and noun in places
            and first < places[noun] < last
            and (
                features.number != own.number
                or (leaf.agrees_in_gender and features.gender != own.gender)
            )
        }
        located.append(Agreement(word=word, controller=place, attractors=tuple(sorted(attractors))))
    return tuple(sorted(located, key=lambda agreement: agreement.word))
