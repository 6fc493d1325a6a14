"""Sets when a homework is due, in the text of dates.toml; whatever else stands there, stays."""

import re


def with_due(text: str, homework: str, moment: str) -> str:
    """Set a homework's date."""
    line = f"{homework} = {moment}\n"
    table = re.search(r"^[ \t]*\[[ \t]*due[ \t]*\][^\n]*(?:\n|\Z)", text, flags=re.MULTILINE)
    if not table:
        before = f"{text.rstrip()}\n\n" if text.strip() else ""
        return f"{before}[due]\n{line}"
    before, rest = text[: table.end()].rstrip("\n") + "\n", text[table.end() :]
    following = re.search(r"^[ \t]*\[", rest, flags=re.MULTILINE)
    own, after = (rest[: following.start()], rest[following.start() :]) if following else (rest, "")
    names = "|".join(re.escape(name) for name in (homework, homework.partition("-")[0]))
    earlier = re.compile(
        rf"^[ \t]*[\"']?(?:{names})[\"']?[ \t]*=[^\n]*(?:\n|\Z)", flags=re.MULTILINE
    )
    return f"{before}{line}{earlier.sub('', own)}{after}"
