"""Is the French right, is the alignment true, and does parsing give back what was drawn?

The truths are translations made by hand, and a table of genders that the grammar does not read.
"""

import itertools
import random

import pytest
import torch

from course_lib.data.translation_grammar.english_french import (
    FRENCH,
    UngrammaticalError,
    draw_pairs,
    english_french_grammar,
    parse_pair,
)
from course_lib.data.translation_grammar.lexicon import ADJECTIVES, AM, BE, NOUNS, VERBS
from course_lib.data.translation_grammar.realization import realize
from course_lib.data.translation_grammar.sentence_pair import Agreement, SentencePair
from course_lib.data.translation_grammar.surface_form import Language
from course_lib.data.translation_grammar.synchronous_grammar import Rule, SynchronousGrammar

BY_HAND = {
    "the writers of the book are old .": "les écrivains du livre sont vieux .",
    "a small black cat follows the birds .": "un petit chat noir suit les oiseaux .",
    "an old man sings .": "un vieil homme chante .",
    "this man is beautiful .": "cet homme est beau .",
    "these heroes are beautiful .": "ces héros sont beaux .",
    "the owl eats a red apple .": "le hibou mange une pomme rouge .",
    "this beautiful bird eats two eggs .": "ce bel oiseau mange deux œufs .",
    "my story is new .": "mon histoire est nouvelle .",
    "my new story is expensive .": "ma nouvelle histoire est chère .",
    "a new article is in the garden .": "un nouvel article est dans le jardin .",
    "the new newspapers are expensive .": "les nouveaux journaux sont chers .",
    "the bee does not see the tree .": "l' abeille ne voit pas l' arbre .",
    "the girl does not read an article .": "la fille ne lit pas d' article .",
    "the girl does not need an umbrella .": "la fille n' a pas besoin d' un parapluie .",
    "I listen to the child .": "j' écoute l' enfant .",
    "I am not happy .": "je ne suis pas heureux .",
    "we eat many oranges .": "nous mangeons beaucoup d' oranges .",
    "they wait in front of the church .": "ils attendent devant l' église .",
    "he needs the book .": "il a besoin du livre .",
    "she talks about the mice .": "elle parle des souris .",
    "the nurse speaks to the boy .": "l' infirmière parle au garçon .",
    "the nurse answers the man .": "l' infirmière répond à l' homme .",
    "does the boy see the girl ?": "est-ce que le garçon voit la fille ?",
    "is she not intelligent ?": "est-ce qu' elle n' est pas intelligente ?",
    "why do we wait ?": "pourquoi est-ce que nous attendons ?",
    "where does the hen sleep ?": "où est-ce que la poule dort ?",
    "what does the woman buy ?": "qu' est-ce que la femme achète ?",
    "who is near the castle ?": "qui est près du château ?",
    "the boy that sees the girls sleeps .": "le garçon qui voit les filles dort .",
    "the girl that he hears laughs .": "la fille qu' il entend rit .",
    "the houses near the tree are white .": "les maisons près de l' arbre sont blanches .",
    "I hide two cakes because they fall .": "je cache deux gâteaux parce qu' ils tombent .",
    "the women laugh because they sing .": "les femmes rient parce qu' elles chantent .",
}

UNGRAMMATICAL = [
    "the boy sleep .",
    "the boys sleeps .",
    "the writer of the books are old .",
    "the boy that the girls sees sleeps .",
    "do the boy sleep ?",
    "is the boys tired ?",
    "I is tired .",
    "he do not sleep .",
    "a apple falls .",
    "an book falls .",
    "this boys sleep .",
    "two boy sleep .",
    "boy sleeps .",
    "the black small cat sleeps .",
    "the letters of the king sleep .",
    "she is in front of it .",
    "the boy sleeps",
    "does the boy sleep .",
    "does the boy sleeps ?",
    "the boy not sleeps .",
    "the boy sees .",
    "the boy laughs because she is happy .",
    "the boy reads a letter because they are new .",
    "the table sees the boy .",
    "the zebra sleeps .",
    "",
]

GENDERS = {
    "m": "garçon homme écrivain enfant héros chat chien oiseau hibou cheval livre journal article "
    "poème gâteau œuf jardin château hôtel arbre parapluie",
    "f": "fille femme actrice infirmière reine souris poule abeille lettre histoire pomme orange "
    "maison école église chaise table horloge",
}

FORMS_OF_VERBS = [*(verb.src for verb in (*VERBS, BE)), ("does", "do")]
OTHER_NUMBER = {
    **dict(FORMS_OF_VERBS),
    **{plural: singular for singular, plural in FORMS_OF_VERBS},
    AM: BE.src[1],
}


def is_grammatical(words):
    return bool(english_french_grammar().parse(words))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module", params=[2, pytest.param(5, marks=pytest.mark.proof)])
def pairs(request):
    flat = draw_pairs(100 * request.param, generator=seeded(0), max_depth=0)
    return flat + draw_pairs(180 * request.param, generator=seeded(1), max_depth=2)


@pytest.mark.parametrize("sentence", BY_HAND)
def test_translations_are_those_made_by_hand(sentence):
    assert parse_pair(sentence).tgt == tuple(BY_HAND[sentence].split())


@pytest.mark.parametrize("sentence", UNGRAMMATICAL)
def test_ungrammatical_sentence_is_rejected(sentence):
    with pytest.raises(UngrammaticalError, match="sentence must be of the grammar, got"):
        parse_pair(sentence)


def test_every_pair_is_parsed_again_and_links_each_word_of_both_sides(pairs):
    for pair in pairs:
        assert parse_pair(pair.src) == pair
        assert {i for i, _ in pair.alignment} == set(range(len(pair.src))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.tgt))), pair
        assert list(pair.alignment) == sorted(set(pair.alignment))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the small black cat falls .", "the=le small=petit black=noir cat=chat falls=tombe .=."),
        (
            "the nurse speaks to the boys .",
            "the=l' nurse=infirmière speaks=parle speaks=aux to=parle the=aux boys=garçons .=.",
        ),
        (
            "he does not need the tree .",
            "he=il does=a not=n' not=pas need=a need=besoin need=de the=l' tree=arbre .=.",
        ),
        (
            "he is not in front of the hen .",
            "he=il is=est not=n' not=pas in=devant front=devant of=devant the=la hen=poule .=.",
        ),
        (
            "many men that I hear laugh .",
            "many=beaucoup many=d' men=hommes that=que I=j' hear=entends laugh=rient .=.",
        ),
        (
            "the man laughs because he is near the table .",
            "the=l' man=homme laughs=rit because=parce because=qu' he=il is=est near=près "
            "near=de the=la table=table .=.",
        ),
    ],
)
def test_alignments_are_those_made_by_hand(sentence, expected):
    pair = parse_pair(sentence)
    assert " ".join(f"{pair.src[i]}={pair.tgt[j]}" for i, j in pair.alignment) == expected


def test_alignment_matrix_asks_from_the_target():
    pair = SentencePair(src=("a", "b", "c", "d"), tgt=("x", "y", "z"), alignment=((0, 2), (1, 0)))
    expected = torch.zeros(3, 4, dtype=torch.bool)
    expected[2, 0] = expected[0, 1] = True
    assert torch.equal(pair.alignment_matrix(), expected)


# French, by a second opinion ----------------------------------------------------------------------


def test_genders_of_the_lexicon_are_those_of_the_table():
    table = {noun: gender for gender, nouns in GENDERS.items() for noun in nouns.split()}
    assert table == {noun.tgt[0]: noun.gender[0] for noun in NOUNS}


def test_french_elides_and_contracts(pairs):
    elided = {"l'": "le la", "d'": "de", "n'": "ne", "j'": "je", "qu'": "que"}
    full = {text for texts in elided.values() for text in texts.split()}
    seen = set()
    for pair in pairs:
        for word, following in itertools.pairwise(pair.tgt):
            vowel = following[0] in "aeiouéèêœh" and following not in ("hibou", "hiboux", "héros")
            assert not (word in full or word in ("ce", "ma")) or not vowel, pair
            assert (
                word not in (*elided, "cet", "bel", "vieil", "nouvel")
                or vowel
                or (word == "qu'" and following == "est-ce")
            ), pair
            seen.add(word)
            assert (word, following) not in FRENCH.contractions, pair
    assert seen >= {*elided, "cet", "bel", "vieil", "nouvel", "du", "des"}


def test_verbs_and_adjectives_follow_the_patterns_of_french():
    regular = {"e": ("e", "e", "ons", "ent"), "s": ("s", "t", "ons", "ent")}
    for verb in VERBS:
        if verb.tgt != ("ai", "a", "avons", "ont"):
            for form, ending in zip(verb.tgt, regular[verb.tgt[0][-1]], strict=True):
                assert form.endswith(ending) or form in ("attend", "entend", "répond"), form
    for adjective in ADJECTIVES:
        masculine, feminine, masculine_plural, feminine_plural = adjective.tgt
        assert feminine.endswith("e")
        assert feminine_plural == feminine + "s"
        in_x = {"beau": "beaux", "nouveau": "nouveaux", "vieux": "vieux", "heureux": "heureux"}
        assert masculine_plural == in_x.get(masculine, masculine + "s")
        assert (adjective.before_vowel is not None) == (masculine in ("beau", "nouveau", "vieux"))


# agreement ----------------------------------------------------------------------------------------


def test_agreement_is_noted_with_its_distance_and_what_misleads():
    pair = parse_pair("the writer of the books near the chairs of the queen is old .")
    [agreement] = pair.src_agreements
    assert agreement == Agreement(word=11, controller=1, attractors=(4, 7))
    assert agreement.distance == 10
    assert parse_pair("does the boy sleep ?").src_agreements[0].distance == 2  # whichever is first
    # l' écrivain des livres près des chaises de la reine est vieux: old minds gender as well
    verb, adjective = pair.tgt_agreements
    assert verb == Agreement(word=10, controller=1, attractors=(3, 6))
    assert adjective == Agreement(word=11, controller=1, attractors=(3, 6, 9))


@pytest.mark.parametrize(
    ("sentence", "src", "tgt"),
    [
        (  # le garçon près de la chaise est vieux
            "the boy near the chair is old .",
            [(5, 1, ())],
            [(6, 1, ()), (7, 1, (5,))],
        ),
        (  # les filles que le garçon voit sont heureuses
            "the girls that the boy sees are happy .",
            [(5, 4, ()), (6, 1, (4,))],
            [(5, 4, ()), (6, 1, (4,)), (7, 1, (4,))],
        ),
        (  # qui n' est pas fatigué ?
            "who is not tired ?",
            [(1, 0, ())],
            [(2, 0, ()), (4, 0, ())],
        ),
        (  # elle lit les livres parce qu' ils sont chers
            "she reads the books because they are expensive .",
            [(1, 0, ()), (6, 5, ())],
            [(1, 0, ()), (7, 6, ()), (8, 6, ())],
        ),
    ],
)
def test_agreements_are_those_found_by_hand(sentence, src, tgt):
    pair = parse_pair(sentence)
    for agreements, expected in ((pair.src_agreements, src), (pair.tgt_agreements, tgt)):
        assert [(a.word, a.controller, a.attractors) for a in agreements] == expected


def test_breaking_an_agreement_leaves_the_grammar(pairs):
    broken, sample = 0, pairs[len(pairs) // 5 : 3 * len(pairs) // 5]
    for pair in sample:
        for agreement in pair.src_agreements:
            words = list(pair.src)
            words[agreement.word] = OTHER_NUMBER[words[agreement.word]]
            assert not is_grammatical(words), words
            broken += 1
    assert broken > len(sample)


# drawing ------------------------------------------------------------------------------------------


SMALL_RULES = (
    Rule(parent="S[]", src="NP[number] V[number]", tgt="NP V", binds="V=NP"),
    Rule(parent="NP[number]", src="Noun[number,it]", tgt="Noun", weight=3),
    Rule(
        parent="NP[number]",
        src="Noun[number,it] of NP[number2]",
        tgt="NP ho/h' Noun",
        deepens=True,
        links="of=ho",
        head="Noun",
    ),
    Rule(parent="Noun[singular,it]", src="cat", tgt="neko", links="cat=neko"),
    Rule(parent="Noun[plural,it]", src="cats", tgt="ineko", links="cats=ineko"),
    Rule(parent="V[singular]", src="sits", tgt="u", links="sits=u", src_agrees="sits"),
    Rule(parent="V[plural]", src="sit", tgt="u", links="sit=u", src_agrees="sit"),
    Rule(parent="Unused[]", src="nothing", tgt="mu"),
    Rule(parent="S[]", src="never Missing[]", tgt="Missing"),
)
PLAIN = Language(vowels="iu", exceptions=frozenset({"u"}), contractions={("ho", "neko"): "honeko"})


def small_grammar(*more, start="S"):
    return SynchronousGrammar(
        (*SMALL_RULES, *more),
        start=start,
        features={"number": ("singular", "plural")},
        src_language=PLAIN,
    )


def test_small_grammar_turns_phrases_round_and_melts_words():
    grammar = small_grammar()
    assert all(rule.parent.name not in ("Unused", "Missing") for rule in grammar.rules)
    [derivation] = grammar.parse(["cat", "of", "cats", "of", "cat", "sits"])
    pair = realize(derivation, PLAIN, PLAIN)
    assert pair.tgt == ("neko", "h'", "ineko", "honeko", "u")
    assert pair.alignment == ((0, 3), (1, 3), (2, 2), (3, 1), (4, 0), (5, 4))
    assert pair.src_agreements == (Agreement(word=5, controller=0, attractors=(2,)),)
    assert pair.depth == 2
    assert grammar.parse(["cat", "of", "cats", "of", "cat", "sit"]) == []


def test_depth_that_every_sentence_needs_must_be_granted():
    nested = Rule(parent="Nested[]", src="so S[]", tgt="S", deepens=True)
    grammar = small_grammar(nested, start="Nested")
    assert grammar.draw(random.Random(0), max_depth=1).depth == 1
    with pytest.raises(ValueError, match="max_depth must be at least 1, got 0"):
        grammar.draw(random.Random(0), max_depth=0)
    both = Rule(parent="Both[]", src="V[plural] Nested[]", tgt="Nested V")
    with pytest.raises(ValueError, match="max_depth must be at least 1, got 0"):
        small_grammar(nested, both, start="Both").draw(random.Random(0), max_depth=0)


def test_nouns_between_mislead_also_where_the_subject_comes_last():
    question = Rule(
        parent="Ask[]",
        src="V[number] Other[number2] NP[number]",
        tgt="V Other NP",
        binds="V=NP",
    )
    other = Rule(parent="Other[number]", src="Noun[number,it]", tgt="Noun")
    [derivation] = small_grammar(question, other, start="Ask").parse(["sits", "cats", "cat"])
    pair = realize(derivation, PLAIN, PLAIN)
    assert pair.src_agreements == (Agreement(word=0, controller=2, attractors=(1,)),)


def test_parse_finds_every_reading():
    again = Rule(parent="V[plural]", src="sit", tgt="wa", links="sit=wa", src_agrees="sit")
    readings = small_grammar(again).parse(["cats", "sit"])
    assert {realize(each, PLAIN, PLAIN).tgt for each in readings} == {
        ("ineko", "u"),
        ("ineko", "wa"),
    }


def test_rules_are_drawn_as_often_as_their_weights_say():
    dice = random.Random(0)
    grammar = small_grammar()
    flat = sum(grammar.draw(dice, max_depth=1).depth == 0 for _ in range(4000))
    assert abs(flat / 4000 - 0.75) < 0.03  # weights 3 and 1, whatever number2 can be


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule(parent="S", src="a", tgt="b"), "a category must be written"),
        (Rule(parent="S[]", src="V[plural]", tgt="u"), "the same categories"),
        (Rule(parent="S[]", src="", tgt=""), "the same categories"),
        (Rule(parent="S[]", src="a a", tgt="u"), "no word twice"),
        (Rule(parent="S[]", src="a", tgt="u", links="b=u"), "must name items, got 'b=u'"),
    ],
)
def test_badly_written_rules_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        small_grammar(rule)
    with pytest.raises(ValueError, match="none derives 'T'"):
        small_grammar(start="T")


def test_drawn_pairs_are_distinct_unless_asked_otherwise_and_depend_on_the_seed():
    first, again, other = (draw_pairs(20, generator=seeded(seed)) for seed in (3, 3, 4))
    assert first == again != other
    # Sentences of three words: five pronouns or who, and one of seven verbs.
    short = {"max_depth": 0, "max_length": 3, "generator": seeded()}
    pairs = draw_pairs(15, **short)
    assert len({pair.src for pair in pairs}) == 15
    pairs = draw_pairs(43, **short, distinct=False)
    assert len({pair.src for pair in pairs}) < 43


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_drawn_pairs_have_the_depth_and_the_lengths_asked_for(depth):
    pairs = draw_pairs(
        40, generator=seeded(), min_depth=depth, max_depth=depth, min_length=8, max_length=30
    )
    assert {pair.depth for pair in pairs} == {depth}
    lengths = {len(pair.src) for pair in pairs}
    assert min(lengths) >= 8
    assert max(lengths) <= 30
    assert len(lengths) > 3


def test_depth_counts_noun_phrases_in_noun_phrases():
    assert parse_pair("the boy sees the cat .").depth == 0
    assert parse_pair("the boy of the girl sees the cat near the tree .").depth == 1
    assert parse_pair("the boy that sees the cat near the tree sleeps .").depth == 2


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"min_depth": 2, "max_depth": 1}, "min_depth=2, max_depth=1"),
        ({"min_depth": -1}, "min_depth=-1"),
        ({"min_length": 0}, "min_length=0"),
        ({"min_length": 5, "max_length": 4}, "min_length=5, max_length=4"),
        ({"max_length": 2}, "only 0 of 5 sentences found"),
    ],
)
def test_bounds_that_cannot_be_kept_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        draw_pairs(**({"count": 5, "generator": seeded()} | bounds))


@pytest.mark.parametrize("link", [(0, 2), (-1, 0)])
def test_links_outside_the_sentences_are_rejected(link):
    with pytest.raises(ValueError, match=rf"alignment must link positions .* got \({link[0]}"):
        SentencePair(src=("a",), tgt=("b", "c"), alignment=(link,))
