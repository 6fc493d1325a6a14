"""Every link within the built book leads to an existing file and id."""

import functools
import posixpath
from urllib.parse import unquote, urlsplit

import lxml.html

LINKS = (("a", "href"), ("link", "href"), ("img", "src"), ("script", "src"), ("source", "src"))


@functools.cache
def links_and_places(file):
    """Return the addresses that a page's file links to, and the ids in it."""
    tree = lxml.html.parse(str(file), lxml.html.HTMLParser(encoding="utf-8")).getroot()
    links = {
        element.get(attribute)
        for tag, attribute in LINKS
        for element in tree.iter(tag)
        if element.get(attribute)
    }
    places = set(tree.xpath("//@id")) | set(tree.xpath("//a/@name"))
    return frozenset(links), frozenset(places)


def pages(site):
    """Return the files of the built pages; the theme's templates are in ``_static``."""
    return [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]


def dead_links(site):
    """Return the broken links of all pages, as (page, address)."""
    dead = []
    for file in pages(site):
        page = file.relative_to(site).as_posix()
        for address in sorted(links_and_places(file)[0]):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
            target = site / path if parts.path else file
            place = unquote(parts.fragment)
            if not target.is_file() or (
                place and target.suffix == ".html" and place not in links_and_places(target)[1]
            ):
                dead.append((page, address))
    return dead


def test_every_link_within_the_book_leads_to_its_place(site):
    number = sum(len(links_and_places(file)[0]) for file in pages(site))
    assert number > 1000
    assert dead_links(site) == []


def test_ids_are_unique_in_each_page(site):
    for file in sorted(site.glob("book/*.html")):
        ids = lxml.html.parse(str(file)).getroot().xpath("//@id")
        assert not {name for name in ids if ids.count(name) > 1}, file.name
