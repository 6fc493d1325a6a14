"""Lexicon: the words of the translation grammar, as tables.

Every noun has a kind, such as person or food, which decides the verbs, adjectives and prepositions
that it occurs with. English words that share their French, such as *small* and *little*, are
synonyms. A slash separates a word's form before a consonant from that before a vowel.
"""

from dataclasses import dataclass
from typing import NamedTuple

KINDS = ("person", "animal", "text", "food", "place", "thing")
_GROUPS = {
    "all": KINDS,
    "alive": ("person", "animal"),
    "things": ("text", "food", "thing"),
    "movable": ("person", "animal", "text", "food", "thing"),
    "lifeless": ("animal", "text", "food", "place", "thing"),
}


def _kinds(text: str) -> tuple[str, ...]:
    """Read kinds of nouns: the name of a group, or kinds separated by spaces."""
    return _GROUPS.get(text) or tuple(text.split())


def _rows(table: str) -> list[list[str]]:
    """Split a table into rows of cells, which ``|`` separates."""
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().split("\n")]


class Noun(NamedTuple):
    """A noun: singular and plural in English and in French, French gender, kind.

    >>> Noun(("owl", "owls"), ("hibou", "hiboux"), "masculine", "animal") in NOUNS
    True
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    gender: str
    kind: str


class Adjective(NamedTuple):
    """An adjective: English word, French forms, kinds of nouns, whether French puts it first.

    The French forms are masculine and feminine singular, then masculine and feminine plural;
    ``before_vowel`` is another masculine singular before a noun that begins with a vowel, or None.

    >>> [adjective.tgt[1] for adjective in ADJECTIVES if adjective.src == "old"]
    ['vieille']
    """

    src: str
    tgt: tuple[str, ...]
    kinds: tuple[str, ...]
    before_noun: bool
    before_vowel: str | None


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb in the present tense.

    >>> [verb.objects for verb in VERBS if verb.src[0] == "eats"]
    [('food',)]

    Attributes:
        src: English forms: third person singular, and all others.
        tgt: French forms after *je*, *il*, *nous* and *ils*.
        subjects: Kinds of nouns that can be its subject.
        objects: Kinds of nouns that can be its object; none for an intransitive verb.
        src_particle: English word after the verb, such as *at* in *look at*.
        tgt_particle: French noun after the verb, and after *pas*, such as *besoin*.
        preposition: French preposition of the object, which contracts with the article.
    """

    src: tuple[str, str]
    tgt: tuple[str, str, str, str]
    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    src_particle: str = ""
    tgt_particle: str = ""
    preposition: str = ""


class Preposition(NamedTuple):
    """A preposition: English, French, kinds of nouns before it and after it.

    ``says_where`` is True if it can also follow a verb, to tell where something happens.

    >>> Preposition("under", "sous", ("animal",), ("thing",)).says_where
    True
    """

    src: str
    tgt: str
    heads: tuple[str, ...]
    objects: tuple[str, ...]
    says_where: bool = True


class Determiner(NamedTuple):
    """A determiner: English singular and plural, French masculine, feminine, plural; "" for none.

    ``negated`` replaces the French forms in the object of a negated verb, unless it is empty. The
    probability to be drawn is proportional to ``weight``.

    >>> Determiner(("a", ""), ("un", "une", "des"), negated="de").tgt[1]
    'une'
    """

    src: tuple[str, str]
    tgt: tuple[str, str, str]
    negated: str = ""
    weight: float = 1.0


# kind | gender | English singular, plural | French singular, plural
_NOUNS = """
person | masculine | boy boys | garçon garçons
person | feminine | girl girls | fille filles
person | masculine | man men | homme hommes
person | feminine | woman women | femme femmes
person | masculine | writer writers | écrivain écrivains
person | feminine | actress actresses | actrice actrices
person | masculine | child children | enfant enfants
person | feminine | nurse nurses | infirmière infirmières
person | masculine | hero heroes | héros héros
person | feminine | queen queens | reine reines
animal | masculine | cat cats | chat chats
animal | masculine | dog dogs | chien chiens
animal | masculine | bird birds | oiseau oiseaux
animal | masculine | owl owls | hibou hiboux
animal | masculine | horse horses | cheval chevaux
animal | feminine | mouse mice | souris souris
animal | feminine | hen hens | poule poules
animal | feminine | bee bees | abeille abeilles
text | masculine | book books | livre livres
text | masculine | newspaper newspapers | journal journaux
text | masculine | article articles | article articles
text | masculine | poem poems | poème poèmes
text | feminine | letter letters | lettre lettres
text | feminine | story stories | histoire histoires
food | masculine | cake cakes | gâteau gâteaux
food | masculine | egg eggs | œuf œufs
food | feminine | apple apples | pomme pommes
food | feminine | orange oranges | orange oranges
place | masculine | garden gardens | jardin jardins
place | masculine | castle castles | château châteaux
place | masculine | hotel hotels | hôtel hôtels
place | feminine | house houses | maison maisons
place | feminine | school schools | école écoles
place | feminine | church churches | église églises
thing | masculine | tree trees | arbre arbres
thing | masculine | umbrella umbrellas | parapluie parapluies
thing | feminine | chair chairs | chaise chaises
thing | feminine | table tables | table tables
thing | feminine | clock clocks | horloge horloges
"""
NOUNS = tuple(
    Noun(tuple(src.split()), tuple(tgt.split()), gender, kind)
    for kind, gender, src, tgt in _rows(_NOUNS)
)

# English | French, m. and f. singular, m. and f. plural | kinds | before the noun?
_ADJECTIVES = """
small | petit petite petits petites | all | before
little | petit petite petits petites | all | before
big | grand grande grands grandes | all | before
large | grand grande grands grandes | all | before
beautiful | beau/bel belle beaux belles | all | before
old | vieux/vieil vieille vieux vieilles | all | before
new | nouveau/nouvel nouvelle nouveaux nouvelles | text place thing | before
young | jeune jeune jeunes jeunes | alive | before
strange | étrange étrange étranges étranges | all | after
white | blanc blanche blancs blanches | animal place thing | after
black | noir noire noirs noires | animal place thing | after
red | rouge rouge rouges rouges | food place thing | after
expensive | cher chère chers chères | text food place thing | after
heavy | lourd lourde lourds lourdes | things | after
happy | heureux heureuse heureux heureuses | alive | after
tired | fatigué fatiguée fatigués fatiguées | alive | after
famous | célèbre célèbre célèbres célèbres | person text place | after
intelligent | intelligent intelligente intelligents intelligentes | alive | after
"""
ADJECTIVES = tuple(
    Adjective(
        src,
        tuple(form.partition("/")[0] for form in tgt.split()),
        _kinds(kinds),
        place == "before",
        tgt.split()[0].partition("/")[2] or None,
    )
    for src, tgt, kinds, place in _rows(_ADJECTIVES)
)

# English after he, after all else, particle | French after je, il, nous, ils, particle, preposition
# | subjects | objects
_VERBS = """
sleeps sleep | dors dort dormons dorment | alive |
sings sing | chante chante chantons chantent | alive |
laughs laugh | ris rit rions rient | person |
works work | travaille travaille travaillons travaillent | person |
waits wait | attends attend attendons attendent | alive |
arrives arrive | arrive arrive arrivons arrivent | alive |
falls fall | tombe tombe tombons tombent | movable |
sees see | vois voit voyons voient | alive | all
finds find | trouve trouve trouvons trouvent | alive | all
looks look at | regarde regarde regardons regardent | alive | all
watches watch | regarde regarde regardons regardent | alive | all
follows follow | suis suit suivons suivent | alive | alive
hears hear | entends entend entendons entendent | alive | alive
listens listen to | écoute écoute écoutons écoutent | person | person animal
draws draw | dessine dessine dessinons dessinent | person | person animal food place thing
reads read | lis lit lisons lisent | person | text
writes write | écris écrit écrivons écrivent | person | text
eats eat | mange mange mangeons mangent | alive | food
buys buy | achète achète achetons achètent | person | lifeless
hides hide | cache cache cachons cachent | person | things
answers answer | réponds répond répondons répondent à | person | person text
speaks speak to | parle parle parlons parlent à | person | alive
talks talk about | parle parle parlons parlent de/d' | person | all
needs need | ai a avons ont besoin de/d' | person | all
"""


def _verb(src: str, tgt: str, subjects: str, objects: str) -> Verb:
    """Make a verb of the cells of a row of ``_VERBS``."""
    third, other, *src_particle = src.split()
    first, il, nous, ils, *rest = tgt.split()
    return Verb(
        src=(third, other),
        tgt=(first, il, nous, ils),
        subjects=_kinds(subjects),
        objects=_kinds(objects),
        src_particle="".join(src_particle),
        tgt_particle="".join(rest[:-1]),
        preposition="".join(rest[-1:]),
    )


VERBS = tuple(_verb(*row) for row in _rows(_VERBS))

BE = Verb(src=("is", "are"), tgt=("suis", "est", "sommes", "sont"), subjects=KINDS)
"""The verb before adjectives and places; its English form after *I* is ``AM``."""

AM = "am"

# English | French | kinds before it | kinds after it | says where?
_PREPOSITIONS = """
of | de/d' | person | person text | no
of | de/d' | lifeless | person | no
near | près de/d' | all | all | yes
close to | près de/d' | all | all | yes
in front of | devant | all | all | yes
behind | derrière | all | all | yes
with | avec | alive | alive | yes
in | dans | movable | place | yes
under | sous | movable | thing | yes
"""
PREPOSITIONS = tuple(
    Preposition(src, tgt, _kinds(heads), _kinds(objects), where == "yes")
    for src, tgt, heads, objects, where in _rows(_PREPOSITIONS)
)

DETERMINERS = (
    Determiner(("the", "the"), ("le/l'", "la/l'", "les"), weight=3),
    Determiner(("a/an", ""), ("un", "une", ""), negated="de/d'"),
    Determiner(("this", "these"), ("ce/cet", "cette", "ces")),
    Determiner(("my", "my"), ("mon", "ma/mon", "mes")),
    Determiner(("", "two"), ("", "", "deux")),
    Determiner(("", "many"), ("", "", "beaucoup de/d'")),
)

VOWELS = "aeiouâàéèêëîïôöûüœh"
"""First letters before which French elides; h is mute except in ``ASPIRATED``."""

ASPIRATED = frozenset({"héros", "hibou", "hiboux"})
"""French words whose h counts as a consonant: *le hibou*, not *l'hibou*."""

CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}
