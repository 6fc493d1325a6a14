"""Years with letters: "Mikolov et al. [2013a]" and "Mikolov et al. [2013b]".

The bibliography's style adds them, so citations, bibliography and notebooks agree.
"""

import functools
from collections import defaultdict
from collections.abc import Iterable
from string import ascii_lowercase

from pybtex import plugin
from pybtex.backends.plaintext import Backend
from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.sorting.author_year_title import SortingStyle
from sphinx.application import Sphinx
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

STYLE = "plain-distinct-years"


class DistinctYears(SortingStyle):
    """Sorts entries by authors, years and titles, and adds a letter to each ambiguous year."""

    def sort(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the sorted entries; an entry whose year gets a letter is a changed copy."""
        ordered = super().sort(entries)
        alike: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in ordered:
            if "year" in entry.fields:
                alike[_shown_authors(entry), entry.fields["year"]].append(entry)
        letters = {
            entry.key: letter
            for group in alike.values()
            if len(group) > 1
            for letter, entry in zip(ascii_lowercase, group, strict=False)
        }
        return [_with_letter(entry, letters.get(entry.key, "")) for entry in ordered]


class Style(PlainStyle):
    """Pybtex's style ``plain``, whose years have letters where they are ambiguous."""

    default_sorting_style = STYLE


def _shown_authors(entry: Entry) -> str:
    """Return an entry's authors as a citation shows them, such as "Liu et al."."""
    style = AuthorYearReferenceStyle()
    shown = style.person.author_or_editor_or_title(full=False)
    return shown.format_data({"entry": entry, "style": style}).render(Backend())


def _with_letter(entry: Entry, letter: str) -> Entry:
    if not letter:
        return entry
    fields = {**entry.fields, "year": entry.fields["year"] + letter}
    copy = Entry(entry.original_type, fields=fields, persons=entry.persons)
    copy.key = entry.key
    return copy


def setup(app: Sphinx) -> None:
    """Register the style."""
    # Pybtex searches all installed packages each time it needs one of its parts.
    plugin.entry_points = functools.cache(plugin.entry_points)
    register_plugin("pybtex.style.sorting", STYLE, DistinctYears)
    register_plugin("pybtex.style.formatting", STYLE, Style)
