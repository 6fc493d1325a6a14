"""Write the table of chapters, modules and homework into README.md: ``make map``."""

from pathlib import Path

from course_lib.course_map import COURSE_MAP

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- course map: written by `make map` from course_lib.course_map.COURSE_MAP -->"
END = "<!-- end of the course map -->"


def course_table() -> str:
    """Return the course's map as a Markdown table, one row a chapter, with links from the root."""
    lines = ["| chapter | modules of `course_lib` | homework |", "|---|---|---|"]
    for chapter in dict.fromkeys(row.chapter for row in COURSE_MAP):
        rows = [row for row in COURSE_MAP if row.chapter == chapter]
        names = [row.module for row in rows if row.module]
        modules = [f"[{name}](course_lib/{name.replace('.', '/')}.py)" for name in names]
        ids = dict.fromkeys(row.homework for row in rows if row.homework is not None)
        homework = [f"[{name}](assignments/{name}/{name}.ipynb)" for name in ids]
        page = Path("book", f"{chapter}.md")
        title = f"[{chapter}]({page})" if (README.parent / page).exists() else chapter
        lines.append(f"| {title} | {', '.join(modules)} | {', '.join(homework)} |")
    return "\n".join(lines)


def with_table(text: str) -> str:
    """Return README.md's text with the current table between its two marker lines.

    Raises:
        SystemExit: A marker line is missing.
    """
    if BEGIN not in text or END not in text:
        raise SystemExit(f"map: README.md needs the lines {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n\n{course_table()}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
