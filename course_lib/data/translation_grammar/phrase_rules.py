"""Phrase rules: how English and French put phrases together.

Features, in brackets: the noun's kind; ``agreement``, what a verb agrees with (*I*, *we*, a
singular, a plural); number; French gender; polarity of the verb; form of a verb phrase: ``finite``,
or the form after *does* or *is* in a question.
"""

from collections.abc import Iterator

from course_lib.data.translation_grammar.lexical_rules import (
    AGREEMENTS,
    GENDERS,
    NUMBERS,
    english_be,
    english_do,
    lexical_rules,
)
from course_lib.data.translation_grammar.lexicon import BE, KINDS
from course_lib.data.translation_grammar.synchronous_grammar import Rule, read_rules

FEATURES = {
    "kind": KINDS,
    "number": NUMBERS,
    "gender": GENDERS,
    "agreement": AGREEMENTS,
    "polarity": ("positive", "negative"),
    "form": ("finite", "after-do", "after-be"),
}

SUBJECTS = {
    **{
        (kind, number): weight
        for kind, weight in zip(KINDS, (2.0, 0.75, 0.25, 0.25, 0.15, 0.35), strict=True)
        for number in NUMBERS
    },
    ("person", "I"): 0.5,
    ("person", "we"): 0.5,
}
"""Weight of each kind and agreement of the subject of a sentence."""

STATEMENTS = tuple(
    Rule(
        parent="Sentence[]",
        src=f"Subject[{kind},{agreement},gender] VerbPhrase[{kind},{agreement},gender,finite] .",
        tgt="Subject VerbPhrase .",
        links=".=.",
        binds="VerbPhrase=Subject",
        weight=weight,
    )
    for (kind, agreement), weight in SUBJECTS.items()
)

# *she* is the subject of the main clause, a person; *it* its object, no person.
OTHER_SENTENCES = read_rules("""
Sentence[]
    src   NounPhrase[person,number,gender,positive] Intransitive[person,number,polarity,finite]
          because HeOrShe[number,gender] VerbPhrase[person,number,gender,finite] .
    tgt   NounPhrase Intransitive parce que/qu' HeOrShe VerbPhrase .
    links because=parce because=que .=.
    binds Intransitive=NounPhrase VerbPhrase=HeOrShe
Sentence[]
    src   Subject[person,agreement,gender] Transitive[person,kind,agreement,positive,finite]
          Object[kind,number,gender2,positive]
          because It[kind,number,gender2] VerbPhrase[kind,number,gender2,finite] .
    tgt   Subject Transitive Object parce que/qu' It VerbPhrase .
    links because=parce because=que .=.
    binds Transitive=Subject VerbPhrase=It
Sentence[]
    src   who VerbPhrase[person,singular,masculine,finite] ?
    tgt   qui VerbPhrase ?
    links who=qui ?=?
    binds VerbPhrase=who VerbPhrase=qui
    weight 0.5
""")


def questions() -> Iterator[Rule]:
    """Build the rules for questions: English begins with an auxiliary, French with *est-ce que*."""
    for (kind, agreement), weight in SUBJECTS.items():
        do, be = english_do(agreement), english_be(agreement)
        subject = f"Subject[{kind},{agreement},gender]"
        for question_word, auxiliary, phrase, share in (
            ("", do, f"VerbPhrase[{kind},{agreement},gender,after-do]", 0.1),
            ("", be, f"VerbPhrase[{kind},{agreement},gender,after-be]", 0.05),
            ("why=pourquoi", do, f"VerbPhrase[{kind},{agreement},gender,after-do]", 0.02),
            ("why=pourquoi", be, f"VerbPhrase[{kind},{agreement},gender,after-be]", 0.02),
            ("where=où", do, f"Intransitive[{kind},{agreement},polarity,after-do]", 0.02),
            ("what=qu'", do, f"AsksForObject[{kind},{agreement},polarity]", 0.03),
        ):
            src_word, _, tgt_word = question_word.partition("=")
            name = phrase.partition("[")[0]
            yield Rule(
                parent="Sentence[]",
                src=f"{src_word} {auxiliary} {subject} {phrase} ?",
                tgt=f"{tgt_word} est-ce que/qu' Subject {name} ?",
                links=f"{question_word} {auxiliary}=est-ce {auxiliary}=que {auxiliary}={name} ?=?",
                binds=f"{auxiliary}=Subject {name}=Subject",
                weight=weight * share,
            )


# With a preposition in French, the object of a negated verb keeps its determiner.
VERB_PHRASES = read_rules("""
VerbPhrase[kind,agreement,gender,form]
    src   Intransitive[kind,agreement,polarity,form]
    tgt   Intransitive
VerbPhrase[kind,agreement,gender,form]
    src   Intransitive[kind,agreement,polarity,form] Where[kind]
    tgt   Intransitive Where
VerbPhrase[kind,agreement,gender,form]
    src   Transitive[kind,kind2,agreement,polarity,form] Object[kind2,number,gender2,polarity]
    tgt   Transitive Object
    weight 3
VerbPhrase[kind,agreement,gender,form]
    src   Oblique[kind,kind2,agreement,polarity,form] Object[kind2,number,gender2,positive]
    tgt   Oblique Object
    weight 1.5
""")


def copula_phrases() -> Iterator[Rule]:
    """Build the rules for *be* before an adjective or a place, with *not* and without."""
    for agreement, est in zip(AGREEMENTS, BE.tgt, strict=True):
        is_ = english_be(agreement)
        for complement in ("Predicate", "Where"):
            features = f"kind,{agreement},gender" if complement == "Predicate" else "kind"
            for polarity, tgt in (("positive", est), ("negative", f"ne/n' {est} pas")):
                negation = "" if polarity == "positive" else "not "
                links = "" if polarity == "positive" else "not=ne not=pas "
                for form, verb in (("finite", f"{is_} "), ("after-be", "")):
                    if (complement, polarity, form) == ("Where", "positive", "after-be"):
                        continue  # *is the boy near the tree under the clock?* has two readings
                    yield Rule(
                        parent=f"VerbPhrase[kind,{agreement},gender,{form}]",
                        src=f"{verb}{negation}{complement}[{features}]",
                        tgt=f"{tgt} {complement}",
                        links=links + (f"{is_}={est}" if verb else ""),
                        src_agrees=verb.strip(),
                        tgt_agrees=est,
                        weight=1 if polarity == "positive" else 0.4,
                    )


NOUN_PHRASES = read_rules("""
Subject[kind,number,gender]
    src   NounPhrase[kind,number,gender,positive]
    tgt   NounPhrase
    weight 4
Subject[person,agreement,gender]
    src   Pronoun[agreement,gender]
    tgt   Pronoun
Object[kind,number,gender,polarity]
    src   NounPhrase[kind,number,gender,polarity]
    tgt   NounPhrase
NounPhrase[kind,number,gender,polarity]
    src   Determiner[number,gender,polarity] Nominal[kind,number,gender]
    tgt   Determiner Nominal
    head  Nominal
    weight 3
NounPhrase[kind,number,gender,polarity]
    src   Determiner[number,gender,polarity] Nominal[kind,number,gender] Prepositional[kind]
    tgt   Determiner Nominal Prepositional
    head  Nominal
    deepens
    weight 1.5
NounPhrase[kind,number,gender,polarity]
    src   Determiner[number,gender,polarity] Nominal[kind,number,gender]
          Relative[kind,number,gender]
    tgt   Determiner Nominal Relative
    head  Nominal
    binds Relative=Nominal
    deepens
    weight 1.5
Nominal[kind,number,gender]
    src   Noun[kind,number,gender]
    tgt   Noun
    weight 5
Nominal[kind,number,gender]
    src   Before[kind,number,gender] Noun[kind,number,gender]
    tgt   Before Noun
    head  Noun
    weight 2
Nominal[kind,number,gender]
    src   After[kind,number,gender] Noun[kind,number,gender]
    tgt   Noun After
    head  Noun
    weight 2
Nominal[kind,number,gender]
    src   Before[kind,number,gender] After[kind,number,gender] Noun[kind,number,gender]
    tgt   Before Noun After
    head  Noun
Prepositional[kind]
    src   Preposition[kind,kind2] NounPhrase[kind2,number,gender,positive]
    tgt   Preposition NounPhrase
Where[kind]
    src   WherePreposition[kind,kind2] NounPhrase[kind2,number,gender,positive]
    tgt   WherePreposition NounPhrase
Relative[kind,number,gender]
    src   that VerbPhrase[kind,number,gender,finite]
    tgt   qui VerbPhrase
    links that=qui
    weight 2
Relative[kind,number,gender]
    src   that Subject[kind2,agreement,gender2]
          Transitive[kind2,kind,agreement,polarity,finite]
    tgt   que/qu' Subject Transitive
    links that=que
    binds Transitive=Subject
""")


RULES = (
    *STATEMENTS,
    *OTHER_SENTENCES,
    *questions(),
    *VERB_PHRASES,
    *copula_phrases(),
    *NOUN_PHRASES,
    *lexical_rules(),
)
"""All rules of the grammar: those of phrases, and those of words."""
