"""Names of students' folders, made from what platforms and class lists call students."""

import re
import unicodedata

_MAX_NAME = 80
_ID = re.compile(r"_\d{1,20}\Z")  # the platform's number, which export reads


def folder_name(text: str) -> str:
    """Make a name that is safe as a folder's, in a page and for nbgrader.

    A long one is shortened, but never to another student's: the platform's number at its end
    stays whole, and no part of a number becomes the end.

    Args:
        text: What a platform calls a student.

    Returns:
        Letters, digits and ``_ . @ -`` alone; empty if nothing is left.
    """
    plain = unicodedata.normalize("NFC", text.encode(errors="replace").decode())
    plain = re.sub(r"[^\w.@-]+", "-", plain).strip("-.")
    if len(plain) <= _MAX_NAME:
        return plain
    if number := _ID.search(plain):
        return plain[: _MAX_NAME - len(number[0])].rstrip("-.") + number[0]
    return re.sub(r"[\d_.-]+\Z", "", plain[:_MAX_NAME])
