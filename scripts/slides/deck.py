"""Writes a deck as one file with all styles, fonts and figures, and without network requests."""

import base64
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit

from bs4 import BeautifulSoup

from scripts.slides.lecture import Lecture, Part, Topic

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1280, 720
_STYLES = (
    "pygments.css",
    "katex/katex.min.css",
    "katex-math.css",
    "css/palette.css",
    "css/typography.css",
    "css/content.css",
    "css/choices.css",
    "css/figures.css",
    "css/diagrams.css",
)
_FIGURES = re.compile("_static/figures/")
_SCRIPTS = re.compile(r"_static/(figures/|js/figures\.js)")
_DEFERRED = re.compile(
    r'window\.courseDeferred \?\?= \{\}\)\["[\w-]+"\] = (\[.*?\]);?\s*$', re.DOTALL
)
_URL = re.compile(r"url\((?P<quote>['\"]?)(?P<file>[^)'\"]+)(?P=quote)\)")
_START = """
Reveal.initialize({
  width: 1280, height: 720, margin: 0, center: false, hash: true,
  controls: false, slideNumber: "c/t", transition: "none", pdfMaxPagesPerSlide: 1,
  plugins: [RevealNotes, RevealZoom],
  keyboard: { 78: () => {
    Reveal.configure({ showNotes: !Reveal.getConfig().showNotes });
    Reveal.layout();
  } },
});
"""


class Placed(TypedDict):
    """A part on a slide: its index in ``Topic.parts``, and its size relative to the original."""

    part: int
    scale: float


@dataclass
class Surroundings:
    """The styles and scripts of a built page, for its deck.

    Attributes:
        styles: The text of all style sheets, with fonts embedded.
        scripts: The scripts of the page's interactive figures, as ``script`` elements.
    """

    styles: str
    scripts: str


def _static(site: Path, address: str) -> Path:
    path = urlsplit(address).path
    return site / "_static" / path.partition("_static/")[2]


def _style(file: Path) -> str:
    def embedded(match: re.Match[str]) -> str:
        if match["file"].startswith(("data:", "#")):
            return match[0]
        content = base64.b64encode((file.parent / match["file"]).read_bytes()).decode("ascii")
        return f"url(data:font/woff2;base64,{content})"

    return _URL.sub(embedded, file.read_text("utf-8"))


def surroundings(site: Path, page: str) -> Surroundings:
    """Return the styles and scripts that a page of the built book loads, with figures' models.

    ``page`` is the HTML of the page.
    """
    soup = BeautifulSoup(page, "html.parser")
    styles = [str(link["href"]) for link in soup.select("link[rel=stylesheet]")]
    figures = [_static(site, href) for href in styles if _FIGURES.search(href)]
    sheets = [*map(_style, [*(site / "_static" / name for name in _STYLES), *figures])]
    deferred, scripts = [], []
    for script in soup.select("script"):
        source = str(script.get("src", ""))
        if _SCRIPTS.search(source):
            scripts.append(source)
        elif found := _DEFERRED.search(script.get_text()):
            deferred += json.loads(found[1])
    for data in soup.select("script[type='application/json']"):
        content = json.loads(data.get_text())
        if isinstance(content, dict) and str(content.get("file", "")).startswith("_static/models/"):
            deferred.append(content["file"])
    texts = [_static(site, address).read_text("utf-8") for address in dict.fromkeys(scripts)]
    loaded = [_static(site, address).read_text("utf-8") for address in dict.fromkeys(deferred)]
    here = "window.courseLoad = async () => {};" if loaded else ""
    *scripts, start = texts or [""]
    return Surroundings("\n".join(sheets), _scripts(*scripts, *loaded, here, start))


def _scripts(*texts: str) -> str:
    safe = (re.sub("</(script)", r"<\\/\1", text) for text in texts if text)
    return "\n".join(f"<script>{text}</script>" for text in safe)


def _page(title: str, styles: Sequence[str], body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{''.join(f'<style>{style}</style>' for style in styles)}\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _part(part: Part, scale: float = 1) -> str:
    zoom = f' style="zoom: {scale}; --zoom: {scale}"' if scale != 1 else ""
    leads = " data-leads" if part.leads else ""
    return f'<div class="part" data-kind="{part.kind}"{leads}{zoom}>{part.html}</div>'


def _section(topic: Topic, parts: str, foot: str = "", notes: str = "") -> str:
    said = f'<aside class="notes">{notes}</aside>' if notes else ""
    return (
        f'<section class="{topic.kind}"><div class="slide"><h2>{topic.title}</h2>'
        f'<div class="slide-body">{parts}</div>{foot}</div>{said}</section>'
    )


def draft(lecture: Lecture, around: Surroundings) -> str:
    """Return the HTML of a page with each topic on one slide, to measure its parts in Chromium."""
    sections = (_section(topic, "".join(map(_part, topic.parts))) for topic in lecture.topics)
    body = f'<div class="slides bd-article draft">{"".join(sections)}</div>{lecture.data}'
    style = (HERE / "slides.css").read_text("utf-8")
    return _page(lecture.title, [around.styles, style], body + around.scripts)


def deck(
    lecture: Lecture, around: Surroundings, placed: Sequence[Sequence[Sequence[Placed]]], foot: str
) -> str:
    """Return the HTML of a lecture's deck of slides.

    Args:
        lecture: The lecture.
        around: The styles and scripts of the chapter's page.
        placed: For each topic its slides, for each slide its parts.
        foot: The foot of the first slide, as HTML.
    """
    slides = []
    for topic, groups in zip(lecture.topics, placed, strict=True):
        for group in groups:
            parts = [(topic.parts[at["part"]], at["scale"]) for at in group]
            shown = "".join(_part(part, scale) for part, scale in parts)
            notes = "".join(note for part, _ in parts for note in part.notes)
            own_foot = f'<p class="course-foot">{foot}</p>' if topic.kind == "title" else ""
            slides.append(_section(topic, shown, own_foot, notes))
    vendored = HERE / "reveal"
    texts = [(vendored / name).read_text("utf-8") for name in ("reveal.js", "notes.js", "zoom.js")]
    styles = [
        (vendored / "reveal.css").read_text("utf-8"),
        around.styles,
        (HERE / "slides.css").read_text("utf-8"),
    ]
    body = (
        f'<div class="reveal"><div class="slides bd-article">{"".join(slides)}</div></div>'
        f"{lecture.data}{around.scripts}{_scripts(*texts, _START)}"
    )
    return _page(lecture.title, styles, body)
