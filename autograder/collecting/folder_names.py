"""Names of students' folders, made from what platforms and class lists call students."""

import re
import unicodedata

_MAX_NAME = 80
_MAX_BYTES = 200  # a file system takes 255, of what is made beside a folder too
_ID = re.compile(r"_\d{1,20}\Z")  # the platform's number, which export reads


def folder_name(text: str) -> str:
    """Make a name that is safe as a folder's, in a page and for nbgrader.

    A long one is shortened, but never to another student's: the platform's number at its end
    stays whole, and no part of a number becomes the end.
    """
    plain = unicodedata.normalize("NFC", text.encode(errors="replace").decode())
    plain = re.sub(r"[^\w.@-]+", "-", plain).strip("-.")
    if plain == _cut(plain, _MAX_NAME, _MAX_BYTES):
        return plain
    if number := _ID.search(plain):
        end = number[0]
        room = _MAX_NAME - len(end), _MAX_BYTES - len(end.encode())
        return _cut(plain, *room).rstrip("-.") + end
    return re.sub(r"[\d_.-]+\Z", "", _cut(plain, _MAX_NAME, _MAX_BYTES))


def folder_key(name: str) -> str:
    """Return what two names have in common that some file systems take for one folder's."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _cut(text: str, characters: int, size: int) -> str:
    return text[:characters].encode()[:size].decode(errors="ignore")
