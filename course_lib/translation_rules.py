"""The rules of the translation grammar: how English and French put phrases together.

Features, in brackets: the kind of thing a noun stands for; ``agreement``, what a verb agrees with
(*I*, *we*, a singular, a plural); number; French gender; polarity of the verb; form of a verb
phrase: ``finite``, or what follows *does* or *is* in a question.
"""

from collections.abc import Iterator

from course_lib.surface_form import Word
from course_lib.synchronous_grammar import Rule
from course_lib.translation_lexicon import (
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

NUMBERS = ("singular", "plural")
GENDERS = ("masculine", "feminine")
AGREEMENTS = ("I", "singular", "we", "plural")
"""In the order in which the lexicon lists French forms: *je*, *il*, *nous*, *ils*."""

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
"""How often a sentence is about each kind, and what its verb then agrees with."""

SENTENCES = (
    *(
        Rule(
            parent="Sentence[]",
            src=f"Subject[{kind},{agreement},gender] "
            f"VerbPhrase[{kind},{agreement},gender,finite] .",
            tgt="Subject VerbPhrase .",
            links=".=.",
            binds="VerbPhrase=Subject",
            weight=weight,
        )
        for (kind, agreement), weight in SUBJECTS.items()
    ),
    # she: the subject of the main clause, a person
    Rule(
        parent="Sentence[]",
        src=(
            "NounPhrase[person,number,gender,positive] Intransitive[person,number,polarity,finite] "
            "because HeOrShe[number,gender] VerbPhrase[person,number,gender,finite] ."
        ),
        tgt="NounPhrase Intransitive parce que/qu' HeOrShe VerbPhrase .",
        links="because=parce because=que .=.",
        binds="Intransitive=NounPhrase VerbPhrase=HeOrShe",
        refers="HeOrShe=NounPhrase",
        weight=1,
    ),
    # it: the object of the main clause, no person
    Rule(
        parent="Sentence[]",
        src=(
            "Subject[person,agreement,gender] "
            "Transitive[person,kind,agreement,positive,finite] "
            "Object[kind,number,gender2,positive] "
            "because It[kind,number,gender2] VerbPhrase[kind,number,gender2,finite] ."
        ),
        tgt="Subject Transitive Object parce que/qu' It VerbPhrase .",
        links="because=parce because=que .=.",
        binds="Transitive=Subject VerbPhrase=It",
        refers="It=Object",
        weight=1,
    ),
    Rule(
        parent="Sentence[]",
        src="who VerbPhrase[person,singular,masculine,finite] ?",
        tgt="qui VerbPhrase ?",
        links="who=qui ?=?",
        binds="VerbPhrase=who VerbPhrase=qui",
        weight=0.5,
    ),
)


def questions() -> Iterator[Rule]:
    """Build the rules for questions: English moves or adds an auxiliary, French adds *est-ce que*.

    Yields:
        The rules.
    """
    for (kind, agreement), weight in SUBJECTS.items():
        do, be = _english_do(agreement), _english_be(agreement)
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


VERB_PHRASES = (
    Rule(
        parent="VerbPhrase[kind,agreement,gender,form]",
        src="Intransitive[kind,agreement,polarity,form]",
        tgt="Intransitive",
        weight=1,
    ),
    Rule(
        parent="VerbPhrase[kind,agreement,gender,form]",
        src="Intransitive[kind,agreement,polarity,form] Where[kind]",
        tgt="Intransitive Where",
        weight=1,
    ),
    Rule(
        parent="VerbPhrase[kind,agreement,gender,form]",
        src="Transitive[kind,kind2,agreement,polarity,form] Object[kind2,number,gender2,polarity]",
        tgt="Transitive Object",
        weight=3,
    ),
    Rule(  # with a preposition in French, the object of a negated verb keeps its determiner
        parent="VerbPhrase[kind,agreement,gender,form]",
        src="Oblique[kind,kind2,agreement,polarity,form] Object[kind2,number,gender2,positive]",
        tgt="Oblique Object",
        weight=1.5,
    ),
)


def copula_phrases() -> Iterator[Rule]:
    """Build the rules for *is* before an adjective or a place, with *not* and without.

    Yields:
        The rules.
    """
    for agreement, est in zip(AGREEMENTS, BE.tgt, strict=True):
        is_ = _english_be(agreement)
        for complement in ("Predicate", "Where"):
            features = f"kind,{agreement},gender" if complement == "Predicate" else "kind"
            for polarity, tgt in (("positive", est), ("negative", f"ne/n' {est} pas")):
                negation = "" if polarity == "positive" else "not "
                links = "" if polarity == "positive" else "not=ne not=pas "
                for form, verb in (("finite", f"{is_} "), ("after-be", "")):
                    if (complement, polarity, form) == ("Where", "positive", "after-be"):
                        continue  # is the boy near the tree under the clock? has two readings
                    yield Rule(
                        parent=f"VerbPhrase[kind,{agreement},gender,{form}]",
                        src=f"{verb}{negation}{complement}[{features}]",
                        tgt=f"{tgt} {complement}",
                        links=links + (f"{is_}={est}" if verb else ""),
                        src_agrees=verb.strip(),
                        tgt_agrees=est,
                        weight=1 if polarity == "positive" else 0.4,
                    )


NOUN_PHRASES = (
    Rule(
        parent="Subject[kind,number,gender]",
        src="NounPhrase[kind,number,gender,positive]",
        tgt="NounPhrase",
        weight=4,
    ),
    Rule(
        parent="Subject[person,agreement,gender]",
        src="Pronoun[agreement,gender]",
        tgt="Pronoun",
        weight=1,
    ),
    Rule(
        parent="Object[kind,number,gender,polarity]",
        src="NounPhrase[kind,number,gender,polarity]",
        tgt="NounPhrase",
    ),
    Rule(
        parent="NounPhrase[kind,number,gender,polarity]",
        src="Determiner[number,gender,polarity] Nominal[kind,number,gender]",
        tgt="Determiner Nominal",
        head="Nominal",
        weight=3,
    ),
    Rule(
        parent="NounPhrase[kind,number,gender,polarity]",
        src="Determiner[number,gender,polarity] Nominal[kind,number,gender] Prepositional[kind]",
        tgt="Determiner Nominal Prepositional",
        head="Nominal",
        deepens=True,
        weight=1.5,
    ),
    Rule(
        parent="NounPhrase[kind,number,gender,polarity]",
        src="Determiner[number,gender,polarity] Nominal[kind,number,gender] "
        "Relative[kind,number,gender]",
        tgt="Determiner Nominal Relative",
        head="Nominal",
        binds="Relative=Nominal",
        deepens=True,
        weight=1.5,
    ),
    Rule(
        parent="Nominal[kind,number,gender]",
        src="Noun[kind,number,gender]",
        tgt="Noun",
        weight=5,
    ),
    Rule(
        parent="Nominal[kind,number,gender]",
        src="Before[kind,number,gender] Noun[kind,number,gender]",
        tgt="Before Noun",
        head="Noun",
        weight=2,
    ),
    Rule(
        parent="Nominal[kind,number,gender]",
        src="After[kind,number,gender] Noun[kind,number,gender]",
        tgt="Noun After",
        head="Noun",
        weight=2,
    ),
    Rule(
        parent="Nominal[kind,number,gender]",
        src="Before[kind,number,gender] After[kind,number,gender] Noun[kind,number,gender]",
        tgt="Before Noun After",
        head="Noun",
        weight=1,
    ),
    Rule(
        parent="Prepositional[kind]",
        src="Preposition[kind,kind2] NounPhrase[kind2,number,gender,positive]",
        tgt="Preposition NounPhrase",
    ),
    Rule(
        parent="Where[kind]",
        src="WherePreposition[kind,kind2] NounPhrase[kind2,number,gender,positive]",
        tgt="WherePreposition NounPhrase",
    ),
    Rule(
        parent="Relative[kind,number,gender]",
        src="that VerbPhrase[kind,number,gender,finite]",
        tgt="qui VerbPhrase",
        links="that=qui",
        weight=2,
    ),
    Rule(
        parent="Relative[kind,number,gender]",
        src="that Subject[kind2,agreement,gender2] "
        "Transitive[kind2,kind,agreement,polarity,finite]",
        tgt="que/qu' Subject Transitive",
        links="that=que",
        binds="Transitive=Subject",
        weight=1,
    ),
)


def words() -> Iterator[Rule]:
    """Build a rule for each form of each word of the lexicon.

    Yields:
        The rules.
    """
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
    # Where French must choose and English does not say, the masculine is the convention.
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
    """Build the rules for a verb: each subject, positive and negative, finite and after *do*."""
    for agreement, finite in zip(AGREEMENTS, verb.tgt, strict=True):
        for polarity in ("positive", "negative"):
            for form in ("finite", "after-do"):
                has_do = form == "finite" and polarity == "negative"
                is_third = (agreement, polarity, form) == ("singular", "positive", "finite")
                do = _english_do(agreement) if has_do else ""
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
    for kind in verb.subjects:
        if not verb.objects:
            yield f"Intransitive[{kind},{agreement_and_polarity},{form}]"
        for kind2 in verb.objects:
            name = "Oblique" if verb.preposition else "Transitive"
            yield f"{name}[{kind},{kind2},{agreement_and_polarity},{form}]"
        # who and what: a verb that is done to persons alone leaves nothing to ask with what
        asks_what = any(kind2 != "person" for kind2 in verb.objects) and not verb.preposition
        if asks_what and form == "after-do":
            yield f"AsksForObject[{kind},{agreement_and_polarity}]"


def _word(parent: str, src: str, tgt: str, weight: float = 1.0) -> Rule:
    """Build a rule in which every source word corresponds to every target word."""
    links = [f"{_text(i)}={_text(j)}" for i in src.split() for j in tgt.split()]
    return Rule(parent=parent, src=src, tgt=tgt, links=" ".join(links), weight=weight)


def _text(notation: str) -> str:
    return Word.read(notation).text


def _english_do(agreement: str) -> str:
    return "does" if agreement == "singular" else "do"


def _english_be(agreement: str) -> str:
    if agreement == "I":
        return AM
    return BE.src[0] if agreement == "singular" else BE.src[1]


RULES = (
    *SENTENCES,
    *questions(),
    *VERB_PHRASES,
    *copula_phrases(),
    *NOUN_PHRASES,
    *words(),
)
"""All of them."""
