"""Reads what the staff write with any editor: UTF-8, with the mark that some put before it."""


class TextFileError(ValueError):
    """Bytes that are no text in UTF-8; the message says where, and what to do."""


def text_of(data: bytes) -> str:
    """Return a file's text, with newlines as line ends.

    Raises:
        TextFileError: They are no UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TextFileError(
            f"line {line} is not written in UTF-8: save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
