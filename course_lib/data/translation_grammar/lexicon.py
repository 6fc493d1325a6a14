"""Lexicon: the words of the translation grammar; data, nothing else.

Every noun stands for one kind of thing. The kind says which verbs, adjectives and prepositions go
with it, so that what the grammar says makes some sense, and words of a kind turn up in the same
surroundings. *small* and *little* are true synonyms, and so are the other English words that share
their French.
"""

from dataclasses import dataclass

PERSON, ANIMAL, TEXT, FOOD, PLACE, THING = "person", "animal", "text", "food", "place", "thing"
KINDS = (PERSON, ANIMAL, TEXT, FOOD, PLACE, THING)
MASCULINE, FEMININE = "masculine", "feminine"
_ALIVE = (PERSON, ANIMAL)
_THINGS = (TEXT, FOOD, THING)


@dataclass(frozen=True)
class Noun:
    """A noun.

    >>> Noun(("owl", "owls"), ("hibou", "hiboux"), MASCULINE, ANIMAL) in NOUNS
    True

    Attributes:
        src: English singular and plural.
        tgt: French singular and plural.
        gender: The French noun's; of persons also what *he* and *she* go by.
        kind: What it is.
    """

    src: tuple[str, str]
    tgt: tuple[str, str]
    gender: str
    kind: str


@dataclass(frozen=True)
class Adjective:
    """An adjective.

    >>> [adjective.tgt[1] for adjective in ADJECTIVES if adjective.src == "old"]
    ['vieille']

    Attributes:
        src: The English word.
        tgt: The French masculine singular, feminine singular, masculine plural, feminine plural.
        kinds: The nouns that it goes with.
        before_noun: Whether the French adjective stands before the noun.
        before_vowel: The French masculine singular between article and vowel, if it is another.
    """

    src: str
    tgt: tuple[str, str, str, str]
    kinds: tuple[str, ...]
    before_noun: bool = False
    before_vowel: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb in the present tense.

    >>> [verb.objects for verb in VERBS if verb.src[0] == "eats"]
    [('food',)]

    Attributes:
        src: English form after *he*, and the form after all else.
        tgt: French form after *je*, *il*, *nous* and *ils*.
        subjects: The kinds that do it.
        objects: The kinds that it is done to; none for a verb without object.
        src_particle: English word that follows.
        tgt_particle: French noun that follows, beyond *pas*.
        preposition: French preposition of the object, which contracts with the article.
    """

    src: tuple[str, str]
    tgt: tuple[str, str, str, str]
    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    src_particle: str = ""
    tgt_particle: str = ""
    preposition: str = ""


@dataclass(frozen=True)
class Preposition:
    """A preposition.

    >>> Preposition("under", "sous", heads=(ANIMAL,), objects=(THING,)).says_where
    True

    Attributes:
        src: English words.
        tgt: French words; those that are several correspond as a whole.
        heads: Kinds of the nouns that it follows.
        objects: Kinds of the nouns that follow it.
        says_where: Whether it can also follow a verb, to say where something happens.
    """

    src: str
    tgt: str
    heads: tuple[str, ...]
    objects: tuple[str, ...]
    says_where: bool = True


@dataclass(frozen=True)
class Determiner:
    """What a noun phrase begins with.

    >>> Determiner(("a", ""), ("un", "une", "des"), negated="de").tgt[1]
    'une'

    Attributes:
        src: English singular and plural; an empty one is missing.
        tgt: French masculine singular, feminine singular, and plural.
        negated: The French word for it in the object of a negated verb, if it is another.
        weight: How often it is drawn, beside others.
    """

    src: tuple[str, str]
    tgt: tuple[str, str, str]
    negated: str = ""
    weight: float = 1.0


NOUNS = (
    Noun(("boy", "boys"), ("garçon", "garçons"), MASCULINE, PERSON),
    Noun(("girl", "girls"), ("fille", "filles"), FEMININE, PERSON),
    Noun(("man", "men"), ("homme", "hommes"), MASCULINE, PERSON),
    Noun(("woman", "women"), ("femme", "femmes"), FEMININE, PERSON),
    Noun(("writer", "writers"), ("écrivain", "écrivains"), MASCULINE, PERSON),
    Noun(("actress", "actresses"), ("actrice", "actrices"), FEMININE, PERSON),
    Noun(("child", "children"), ("enfant", "enfants"), MASCULINE, PERSON),
    Noun(("nurse", "nurses"), ("infirmière", "infirmières"), FEMININE, PERSON),
    Noun(("hero", "heroes"), ("héros", "héros"), MASCULINE, PERSON),
    Noun(("queen", "queens"), ("reine", "reines"), FEMININE, PERSON),
    Noun(("cat", "cats"), ("chat", "chats"), MASCULINE, ANIMAL),
    Noun(("dog", "dogs"), ("chien", "chiens"), MASCULINE, ANIMAL),
    Noun(("bird", "birds"), ("oiseau", "oiseaux"), MASCULINE, ANIMAL),
    Noun(("owl", "owls"), ("hibou", "hiboux"), MASCULINE, ANIMAL),
    Noun(("horse", "horses"), ("cheval", "chevaux"), MASCULINE, ANIMAL),
    Noun(("mouse", "mice"), ("souris", "souris"), FEMININE, ANIMAL),
    Noun(("hen", "hens"), ("poule", "poules"), FEMININE, ANIMAL),
    Noun(("bee", "bees"), ("abeille", "abeilles"), FEMININE, ANIMAL),
    Noun(("book", "books"), ("livre", "livres"), MASCULINE, TEXT),
    Noun(("newspaper", "newspapers"), ("journal", "journaux"), MASCULINE, TEXT),
    Noun(("article", "articles"), ("article", "articles"), MASCULINE, TEXT),
    Noun(("poem", "poems"), ("poème", "poèmes"), MASCULINE, TEXT),
    Noun(("letter", "letters"), ("lettre", "lettres"), FEMININE, TEXT),
    Noun(("story", "stories"), ("histoire", "histoires"), FEMININE, TEXT),
    Noun(("cake", "cakes"), ("gâteau", "gâteaux"), MASCULINE, FOOD),
    Noun(("egg", "eggs"), ("œuf", "œufs"), MASCULINE, FOOD),
    Noun(("apple", "apples"), ("pomme", "pommes"), FEMININE, FOOD),
    Noun(("orange", "oranges"), ("orange", "oranges"), FEMININE, FOOD),
    Noun(("garden", "gardens"), ("jardin", "jardins"), MASCULINE, PLACE),
    Noun(("castle", "castles"), ("château", "châteaux"), MASCULINE, PLACE),
    Noun(("hotel", "hotels"), ("hôtel", "hôtels"), MASCULINE, PLACE),
    Noun(("house", "houses"), ("maison", "maisons"), FEMININE, PLACE),
    Noun(("school", "schools"), ("école", "écoles"), FEMININE, PLACE),
    Noun(("church", "churches"), ("église", "églises"), FEMININE, PLACE),
    Noun(("tree", "trees"), ("arbre", "arbres"), MASCULINE, THING),
    Noun(("umbrella", "umbrellas"), ("parapluie", "parapluies"), MASCULINE, THING),
    Noun(("chair", "chairs"), ("chaise", "chaises"), FEMININE, THING),
    Noun(("table", "tables"), ("table", "tables"), FEMININE, THING),
    Noun(("clock", "clocks"), ("horloge", "horloges"), FEMININE, THING),
)

ADJECTIVES = (
    Adjective("small", ("petit", "petite", "petits", "petites"), KINDS, True),
    Adjective("little", ("petit", "petite", "petits", "petites"), KINDS, True),
    Adjective("big", ("grand", "grande", "grands", "grandes"), KINDS, True),
    Adjective("large", ("grand", "grande", "grands", "grandes"), KINDS, True),
    Adjective("beautiful", ("beau", "belle", "beaux", "belles"), KINDS, True, "bel"),
    Adjective("old", ("vieux", "vieille", "vieux", "vieilles"), KINDS, True, "vieil"),
    Adjective(
        "new",
        ("nouveau", "nouvelle", "nouveaux", "nouvelles"),
        (TEXT, PLACE, THING),
        True,
        "nouvel",
    ),
    Adjective("young", ("jeune", "jeune", "jeunes", "jeunes"), _ALIVE, True),
    Adjective("strange", ("étrange", "étrange", "étranges", "étranges"), KINDS),
    Adjective("white", ("blanc", "blanche", "blancs", "blanches"), (ANIMAL, PLACE, THING)),
    Adjective("black", ("noir", "noire", "noirs", "noires"), (ANIMAL, PLACE, THING)),
    Adjective("red", ("rouge", "rouge", "rouges", "rouges"), (FOOD, PLACE, THING)),
    Adjective("expensive", ("cher", "chère", "chers", "chères"), (TEXT, FOOD, PLACE, THING)),
    Adjective("heavy", ("lourd", "lourde", "lourds", "lourdes"), _THINGS),
    Adjective("happy", ("heureux", "heureuse", "heureux", "heureuses"), _ALIVE),
    Adjective("tired", ("fatigué", "fatiguée", "fatigués", "fatiguées"), _ALIVE),
    Adjective("famous", ("célèbre", "célèbre", "célèbres", "célèbres"), (PERSON, TEXT, PLACE)),
    Adjective(
        "intelligent",
        ("intelligent", "intelligente", "intelligents", "intelligentes"),
        _ALIVE,
    ),
)

VERBS = (
    Verb(src=("sleeps", "sleep"), tgt=("dors", "dort", "dormons", "dorment"), subjects=_ALIVE),
    Verb(src=("sings", "sing"), tgt=("chante", "chante", "chantons", "chantent"), subjects=_ALIVE),
    Verb(src=("laughs", "laugh"), tgt=("ris", "rit", "rions", "rient"), subjects=(PERSON,)),
    Verb(
        src=("works", "work"),
        tgt=("travaille", "travaille", "travaillons", "travaillent"),
        subjects=(PERSON,),
    ),
    Verb(
        src=("waits", "wait"), tgt=("attends", "attend", "attendons", "attendent"), subjects=_ALIVE
    ),
    Verb(
        src=("arrives", "arrive"),
        tgt=("arrive", "arrive", "arrivons", "arrivent"),
        subjects=_ALIVE,
    ),
    Verb(
        src=("falls", "fall"),
        tgt=("tombe", "tombe", "tombons", "tombent"),
        subjects=(*_ALIVE, *_THINGS),
    ),
    Verb(
        src=("sees", "see"),
        tgt=("vois", "voit", "voyons", "voient"),
        subjects=_ALIVE,
        objects=KINDS,
    ),
    Verb(
        src=("finds", "find"),
        tgt=("trouve", "trouve", "trouvons", "trouvent"),
        subjects=_ALIVE,
        objects=KINDS,
    ),
    Verb(
        src=("looks", "look"),
        src_particle="at",
        tgt=("regarde", "regarde", "regardons", "regardent"),
        subjects=_ALIVE,
        objects=KINDS,
    ),
    Verb(
        src=("watches", "watch"),
        tgt=("regarde", "regarde", "regardons", "regardent"),
        subjects=_ALIVE,
        objects=KINDS,
    ),
    Verb(
        src=("follows", "follow"),
        tgt=("suis", "suit", "suivons", "suivent"),
        subjects=_ALIVE,
        objects=_ALIVE,
    ),
    Verb(
        src=("hears", "hear"),
        tgt=("entends", "entend", "entendons", "entendent"),
        subjects=_ALIVE,
        objects=_ALIVE,
    ),
    Verb(
        src=("listens", "listen"),
        src_particle="to",
        tgt=("écoute", "écoute", "écoutons", "écoutent"),
        subjects=(PERSON,),
        objects=(PERSON, ANIMAL),
    ),
    Verb(
        src=("draws", "draw"),
        tgt=("dessine", "dessine", "dessinons", "dessinent"),
        subjects=(PERSON,),
        objects=(PERSON, ANIMAL, FOOD, PLACE, THING),
    ),
    Verb(
        src=("reads", "read"),
        tgt=("lis", "lit", "lisons", "lisent"),
        subjects=(PERSON,),
        objects=(TEXT,),
    ),
    Verb(
        src=("writes", "write"),
        tgt=("écris", "écrit", "écrivons", "écrivent"),
        subjects=(PERSON,),
        objects=(TEXT,),
    ),
    Verb(
        src=("eats", "eat"),
        tgt=("mange", "mange", "mangeons", "mangent"),
        subjects=_ALIVE,
        objects=(FOOD,),
    ),
    Verb(
        src=("buys", "buy"),
        tgt=("achète", "achète", "achetons", "achètent"),
        subjects=(PERSON,),
        objects=(ANIMAL, TEXT, FOOD, PLACE, THING),
    ),
    Verb(
        src=("hides", "hide"),
        tgt=("cache", "cache", "cachons", "cachent"),
        subjects=(PERSON,),
        objects=_THINGS,
    ),
    Verb(
        src=("answers", "answer"),
        tgt=("réponds", "répond", "répondons", "répondent"),
        preposition="à",
        subjects=(PERSON,),
        objects=(PERSON, TEXT),
    ),
    Verb(
        src=("speaks", "speak"),
        src_particle="to",
        tgt=("parle", "parle", "parlons", "parlent"),
        preposition="à",
        subjects=(PERSON,),
        objects=_ALIVE,
    ),
    Verb(
        src=("talks", "talk"),
        src_particle="about",
        tgt=("parle", "parle", "parlons", "parlent"),
        preposition="de/d'",
        subjects=(PERSON,),
        objects=KINDS,
    ),
    Verb(
        src=("needs", "need"),
        tgt=("ai", "a", "avons", "ont"),
        tgt_particle="besoin",
        preposition="de/d'",
        subjects=(PERSON,),
        objects=KINDS,
    ),
)

BE = Verb(src=("is", "are"), tgt=("suis", "est", "sommes", "sont"), subjects=KINDS)
"""The verb of adjectives and places; English alone has *am*, see ``AM``."""

AM = "am"

PREPOSITIONS = (
    Preposition("of", "de/d'", (PERSON,), (PERSON, TEXT), says_where=False),
    Preposition("of", "de/d'", (ANIMAL, TEXT, FOOD, PLACE, THING), (PERSON,), says_where=False),
    Preposition("near", "près de/d'", KINDS, KINDS),
    Preposition("close to", "près de/d'", KINDS, KINDS),
    Preposition("in front of", "devant", KINDS, KINDS),
    Preposition("behind", "derrière", KINDS, KINDS),
    Preposition("with", "avec", _ALIVE, _ALIVE),
    Preposition("in", "dans", (PERSON, ANIMAL, *_THINGS), (PLACE,)),
    Preposition("under", "sous", (PERSON, ANIMAL, *_THINGS), (THING,)),
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
"""Letters before which French elides; h is mute but for ``ASPIRATED``. English uses the first 5."""

ASPIRATED = frozenset({"héros", "hibou", "hiboux"})
"""French words whose h counts as a consonant: *le hibou*, not *l'hibou*."""

CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}
