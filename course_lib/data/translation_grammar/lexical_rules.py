"""Lexical rules: a rule for each form of each word of the lexicon.

The features in brackets are those of ``phrase_rules``.
"""

from collections.abc import Iterator

from course_lib.data.translation_grammar.lexicon import (
    ADJECTIVES,
    AM,
    BE,
    DETERMINERS,
    KINDS,
    NOUNS,
    PREPOSITIONS,
    VERBS,
    Verb,
)
from course_lib.data.translation_grammar.synchronous_grammar import Rule

NUMBERS = ("singular", "plural")
GENDERS = ("masculine", "feminine")
AGREEMENTS = ("I", "singular", "we", "plural")
"""Agreements of a verb, in the order of the lexicon's French forms: *je*, *il*, *nous*, *ils*."""


def lexical_rules() -> Iterator[Rule]:
    """Build a rule for each form of each word of the lexicon."""
    for noun in NOUNS:
        for number, src, tgt in zip(NUMBERS, noun.src, noun.tgt, strict=True):
            yield _word(f"Noun[{noun.kind},{number},{noun.gender}]", src, tgt)
    for adjective in ADJECTIVES:
        place = "Before" if adjective.before_noun else "After"
        forms = [(number, gender) for number in NUMBERS for gender in GENDERS]
        for (number, gender), tgt in zip(forms, adjective.tgt, strict=True):
            changes = adjective.before_vowel and (number, gender) == ("singular", "masculine")
            by_noun = f"{tgt}/{adjective.before_vowel}" if changes else tgt
            for kind in adjective.kinds:
                yield _word(f"{place}[{kind},{number},{gender}]", adjective.src, by_noun)
                persons = {"singular": ("I", "singular"), "plural": ("we", "plural")}
                for agreement in persons[number]:
                    yield Rule(
                        parent=f"Predicate[{kind},{agreement},{gender}]",
                        src=adjective.src,
                        tgt=tgt,
                        links=f"{adjective.src}={tgt}",
                        tgt_agrees=tgt,
                        agrees_in_gender=True,
                    )
    for verb in VERBS:
        yield from _verb_forms(verb)
    for preposition in PREPOSITIONS:
        for head in preposition.heads:
            for kind in preposition.objects:
                features = f"[{head},{kind}]"
                yield _word(f"Preposition{features}", preposition.src, preposition.tgt)
                if preposition.says_where:
                    yield _word(f"WherePreposition{features}", preposition.src, preposition.tgt)
    for determiner in DETERMINERS:
        masculine, feminine, plural = determiner.tgt
        for number, gender, tgt in (
            ("singular", "masculine", masculine),
            ("singular", "feminine", feminine),
            ("plural", "gender", plural),
        ):
            src = determiner.src[NUMBERS.index(number)]
            if src:
                negated = determiner.negated or tgt
                yield _word(f"Determiner[{number},{gender},positive]", src, tgt, determiner.weight)
                yield _word(
                    f"Determiner[{number},{gender},negative]", src, negated, determiner.weight
                )
    yield from _pronouns()


def _pronouns() -> Iterator[Rule]:
    """Build the rules for pronouns; masculine where English does not tell the gender."""
    for agreement, gender, src, tgt in (
        ("I", "masculine", "I", "je/j'"),
        ("we", "masculine", "we", "nous"),
        ("singular", "masculine", "he", "il"),
        ("singular", "feminine", "she", "elle"),
        ("plural", "masculine", "they", "ils"),
    ):
        yield _word(f"Pronoun[{agreement},{gender}]", src, tgt)
    for number, gender, he_or_she, it, tgt in (
        ("singular", "masculine", "he", "it", "il"),
        ("singular", "feminine", "she", "it", "elle"),
        ("plural", "masculine", "they", "they", "ils"),
        ("plural", "feminine", "they", "they", "elles"),
    ):
        yield _word(f"HeOrShe[{number},{gender}]", he_or_she, tgt)
        for kind in KINDS:
            if kind != "person":
                yield _word(f"It[{kind},{number},{gender}]", it, tgt)


def _verb_forms(verb: Verb) -> Iterator[Rule]:
    """Build a verb's rules for each subject, polarity, and form (finite, or after *do*)."""
    for agreement, finite in zip(AGREEMENTS, verb.tgt, strict=True):
        for polarity in ("positive", "negative"):
            for form in ("finite", "after-do"):
                has_do = form == "finite" and polarity == "negative"
                is_third = (agreement, polarity, form) == ("singular", "positive", "finite")
                do = english_do(agreement) if has_do else ""
                not_, ne, pas = ("not", "ne/n'", "pas") if polarity == "negative" else ("", "", "")
                verb_form = verb.src[0] if is_third else verb.src[1]
                src = (do, not_, verb_form, verb.src_particle)
                tgt = (ne, finite, pas, verb.tgt_particle, verb.preposition)
                links = [f"{word}={finite}" for word in (do, verb_form, verb.src_particle) if word]
                links += ["not=ne", "not=pas"] if not_ else []
                links += [f"{verb_form}={_text(word)}" for word in tgt[3:] if word]
                for parent in _verb_parents(verb, f"{agreement},{polarity}", form):
                    yield Rule(
                        parent=parent,
                        src=" ".join(filter(None, src)),
                        tgt=" ".join(filter(None, tgt)),
                        links=" ".join(links),
                        src_agrees=(do or verb_form) if form == "finite" else "",
                        tgt_agrees=finite,
                    )


def _verb_parents(verb: Verb, agreement_and_polarity: str, form: str) -> Iterator[str]:
    """Yield a verb's categories, such as ``Transitive[person,food,I,positive,finite]``.

    There is one for each kind of its subject and of its object.
    """
    for kind in verb.subjects:
        if not verb.objects:
            yield f"Intransitive[{kind},{agreement_and_polarity},{form}]"
        for kind2 in verb.objects:
            name = "Oblique" if verb.preposition else "Transitive"
            yield f"{name}[{kind},{kind2},{agreement_and_polarity},{form}]"
        # *what* asks for an object that is no person
        asks_what = any(kind2 != "person" for kind2 in verb.objects) and not verb.preposition
        if asks_what and form == "after-do":
            yield f"AsksForObject[{kind},{agreement_and_polarity}]"


def _word(parent: str, src: str, tgt: str, weight: float = 1.0) -> Rule:
    """Build a rule in which every source word corresponds to every target word."""
    links = [f"{_text(i)}={_text(j)}" for i in src.split() for j in tgt.split()]
    return Rule(parent=parent, src=src, tgt=tgt, links=" ".join(links), weight=weight)


def _text(notation: str) -> str:
    """Return a word's form before a consonant: ``le`` for the notation ``le/l'``."""
    return notation.partition("/")[0]


def english_do(agreement: str) -> str:
    """Return the form of *do* for a subject's agreement, one of ``AGREEMENTS``."""
    return "does" if agreement == "singular" else "do"


def english_be(agreement: str) -> str:
    """Return the form of *be* for a subject's agreement, one of ``AGREEMENTS``."""
    if agreement == "I":
        return AM
    return BE.src[0] if agreement == "singular" else BE.src[1]
