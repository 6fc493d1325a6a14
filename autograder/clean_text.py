"""Cleans students' text for display: removes escape sequences and invisible characters.

The code that writes HTML, CSV or terminal markup escapes the text as well.
"""

import hashlib
import re
import unicodedata

# ECMA-48: control sequences (CSI), strings such as a window title (OSC, DCS, SOS, PM, APC) with
# their ends, and the short escapes; each begins with ESC or with one C1 character.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LINES_AND_TABS = re.compile("[\n\t]+")
_JOINERS = "\u200c\u200d"  # written inside the words of several scripts
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, format, surrogate, private use, unassigned
_MAX_ACCENTS = 4  # per letter; longer stacks would cover the lines above and below


def clean_text(text: str, limit: int = 4000) -> str:
    """Make a text safe for pages and terminals, and cut a long one in the middle.

    Escape sequences are removed and stacks of accents shortened. Invisible characters (controls,
    bidirectional overrides, single surrogates from file names that are not UTF-8) become U+FFFD.
    Line ends become newlines; tabs stay.
    """
    start, end = text, ""
    if len(text) > 4 * limit:  # cut a very long text before cleaning it
        start, end = text[: 2 * limit], text[-2 * limit :]
    start, end = _clean(start), _clean(end)
    if not end:
        if len(start) <= limit:
            return start
        end = start
    head = limit // 3  # the end of a traceback says more than its start
    note = f"\n[... {len(text) - limit:,} characters left out ...]\n"
    return start[:head] + note + end[head - limit :]


def one_line(text: str, limit: int = 200) -> str:
    """Return a text on one line, made safe by ``clean_text``, cut to ``limit`` with an ellipsis."""
    line = " ".join(clean_text(text[: 4 * limit], 4 * limit).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def without_sql(text: str) -> str:
    """Return a database's error message without the SQL and the link that SQLAlchemy adds."""
    return re.split(r"\n\[SQL: |\n\(Background on this error", text)[0]


def distinct_line(text: str) -> str:
    """Flatten a name to one line; a name that this changes gets a hash, so that it stays unique."""
    line = one_line(text, 255)  # no folder has a longer name
    if line == text:
        return line
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{line} [{digest[:8]}]"


def _clean(text: str) -> str:
    if text.isascii() and _LINES_AND_TABS.sub("", text).isprintable():  # true of nearly all texts
        return text
    text = _LINE_END.sub("\n", _ESCAPE_SEQUENCE.sub("", text))
    kept: list[str] = []
    accents = 0
    for character in text:
        category = unicodedata.category(character)
        accents = accents + 1 if category in ("Mn", "Me") else 0
        if accents > _MAX_ACCENTS:
            continue
        hidden = category in _HIDDEN and character not in "\n\t" + _JOINERS
        kept.append("\ufffd" if hidden else character)
    return "".join(kept)


def is_plain(name: str) -> bool:
    """Return whether a folder's name can be a student's id: visible, on one line, not hidden."""
    return name[:1] not in ("", ".") and "/" not in name and one_line(name, 255) == name
