"""Write the picture of the code's rooms and their imports into ARCHITECTURE.md: ``make map``."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- rooms: written by `make map` from the imports and docstrings of the code -->"
END = "<!-- end of the rooms -->"
PACKAGES = ("course_lib", "autograder")


def rooms_section() -> str:
    """Return a Mermaid diagram of the imports between rooms, and a table that describes the rooms.

    A room is a folder of ``course_lib`` or ``autograder``. An arrow leads from a room to one that
    it imports; an arrow that a longer path implies is left out.
    """
    lines = ["```mermaid", "flowchart TD"]
    for package in PACKAGES:
        arrows = imports_between_rooms(package)
        order = TopologicalSorter({a: sorted(arrows[a]) for a in sorted(arrows)}).static_order()
        lines += [f"  subgraph {package}", *(f"    {room}" for room in reversed([*order]))]
        lines += [f"    {a} --> {b}" for a in sorted(arrows) for b in sorted(direct(arrows, a))]
        lines += ["  end"]
    lines += ["```", "", "| room | holds |", "|---|---|"]
    for package in PACKAGES:
        for room in sorted(imports_between_rooms(package)):
            folder = ROOT / package / room
            doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
            lines.append(f"| [{package}/{room}]({package}/{room}) | {doc.splitlines()[0]} |")
    return "\n".join(lines)


def imports_between_rooms(package: str) -> dict[str, set[str]]:
    """Return each room of a package with the rooms that its files import."""
    rooms = [path.parent.name for path in sorted((ROOT / package).glob("*/__init__.py"))]
    arrows = {}
    for room in rooms:
        names = set()
        for file in (ROOT / package / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names |= {f"{node.module}.{alias.name}" for alias in node.names}
                elif isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
        parts = [name.split(".") for name in names]
        found = {part[1] for part in parts if part[0] == package and len(part) > 1}
        arrows[room] = found & set(rooms) - {room}
    return arrows


def direct(arrows: dict[str, set[str]], room: str) -> set[str]:
    """Return the rooms that a room imports and that none of its other imports leads to."""

    def reached(start: str) -> set[str]:
        return arrows[start].union(*(reached(following) for following in arrows[start]))

    return arrows[room].difference(*(reached(other) for other in arrows[room]))


def with_rooms(text: str) -> str:
    """Return a page's text with the section of rooms between its markers.

    Raises:
        SystemExit: A marker is missing.
    """
    if BEGIN not in text or END not in text:
        raise SystemExit(f"map: ARCHITECTURE.md needs the lines {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{rooms_section()}\n\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_rooms(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
