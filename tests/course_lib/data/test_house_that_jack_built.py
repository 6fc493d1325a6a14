"""Does every verse repeat all verses before it?"""

import itertools

from course_lib.data.house_that_jack_built import read_rhyme


def test_each_verse_repeats_those_before():
    vocabulary, rhyme = read_rhyme()
    assert vocabulary == sorted(set(vocabulary))
    verses = [" ".join(vocabulary[word] for word in row).rstrip(" .") for row in rhyme]
    assert verses[0] == "this is the house that jack built"
    assert verses[2] == "this is the rat that ate the malt that lay in the house that jack built"
    for before, verse in itertools.pairwise(verses):
        assert verse.endswith(before.removeprefix("this is "))
