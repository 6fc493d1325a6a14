"""Text from students made fit to be shown: what it says stays, what it could do to a screen goes.

Escaping for HTML, CSV or a terminal's markup comes on top, where the text is written.
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
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")  # controls, formats, half, private, unassigned characters
_MAX_ACCENTS = 4  # on one letter; more are there to cover the lines around it


def clean_text(text: str, limit: int = 4000) -> str:
    """Remove what a text could do to a page or a terminal, and cut it in the middle.

    Escape sequences go, and piles of accents are lowered. Each character that can't be seen, or
    that reverses what is seen (control, bidirectional override, half of a pair from a file name
    that is no UTF-8), becomes U+FFFD. Line ends become newlines; tabs stay.
    """
    start, end = text, ""
    if len(text) > 4 * limit:  # a flood is cut before it is read
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
    """Clean a text and flatten it to one line."""
    line = " ".join(clean_text(text[: 4 * limit], 4 * limit).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def without_sql(text: str) -> str:
    """Return what a database said, without the statement and the address that SQLAlchemy adds."""
    return re.split(r"\n\[SQL: |\n\(Background on this error", text)[0]


def distinct_line(text: str) -> str:
    """Flatten what somebody is called to one line that nobody else's looks like."""
    line = one_line(text, 255)  # no folder has a longer name
    if line == text:
        return line
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{line} [{digest[:8]}]"


def _clean(text: str) -> str:
    if text.isascii() and _LINES_AND_TABS.sub("", text).isprintable():  # as nearly all texts are
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
