"""Write the table of chapters, modules and homework into README.md: ``make map``."""

from pathlib import Path

from course_lib import COURSE_MAP

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- course map: written by `make map` from course_lib.COURSE_MAP -->"
END = "<!-- end of the course map -->"


def course_table() -> str:
    """Return the course's map as a Markdown table with links from the project's root."""
    lines = ["| chapter | module | homework |", "|---|---|---|"]
    for room in COURSE_MAP:
        homework = "none"
        if room.homework is not None:
            homework = f"[{room.homework}](assignments/{room.homework}/{room.homework}.ipynb)"
        lines.append(
            f"| [{room.chapter}](book/{room.chapter}.md) "
            f"| [course_lib.{room.module}](course_lib/{room.module}.py) "
            f"| {homework} |"
        )
    return "\n".join(lines)


def with_table(text: str) -> str:
    """Put the table between the markers.

    Args:
        text: The content of README.md.

    Returns:
        The new content.

    Raises:
        SystemExit: A marker is missing.
    """
    if BEGIN not in text or END not in text:
        raise SystemExit(f"map: README.md needs the lines {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n{course_table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
