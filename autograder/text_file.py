"""Decodes text files of the staff: UTF-8, with or without a byte order mark."""


class TextFileError(ValueError):
    """Bytes are not UTF-8; the message gives the line and a remedy."""


def text_of(data: bytes) -> str:
    """Return a file's text, with newlines as line ends.

    Raises:
        TextFileError: The bytes are not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise TextFileError(
            f"line {line} is not written in UTF-8: save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
