"""Reads the submission_metadata.yml of a Gradescope export: who handed in what, and when."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml

from autograder.moments import plausible

METADATA = "submission_metadata.yml"
MAX_METADATA_BYTES = 200 << 20
"""It holds what was found of every attempt: ten times what a class's largest has."""
_DEEPEST = 100  # PyYAML's faster loader would overflow the stack, and end the process


class MetadataError(ValueError):
    """A metadata file that can't be read; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """A person who handed in, alone or in a group.

    Attributes:
        name, sid, email: As Gradescope knows them; may be empty.
    """

    name: str
    sid: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """What the file says about one folder.

    Attributes:
        submitters: At least one.
        created: When it was handed in; None if the file does not say.
    """

    submitters: tuple[Submitter, ...]
    created: datetime | None


# All that is in it are texts to it: a name that looks like a date, and is none, is a name. The one
# written in C is six times as fast, where it is built.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_metadata(text: bytes) -> dict[str, Record]:
    """Read the file."""
    try:
        _refuse_depth(text)
        data = yaml.load(text, _Loader)  # noqa: S506 -- it makes texts, lists and dictionaries
    except Exception as error:  # whatever a parser says
        raise MetadataError(f"{METADATA} can't be read: {error}") from error
    if not isinstance(data, dict) or not data:
        raise MetadataError(f"{METADATA} names no submissions")
    return {folder: _record(entry) for folder, entry in data.items()}


def _refuse_depth(text: bytes) -> None:
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise MetadataError("it is nested too deep")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _record(entry: Any) -> Record:
    entry = entry if isinstance(entry, dict) else {}
    people = entry.get(":submitters")
    submitters = tuple(
        Submitter(**{key: _text(person.get(f":{key}")) for key in ("name", "sid", "email")})
        for person in (people if isinstance(people, list) else [])
        if isinstance(person, dict)
    )
    return Record(submitters=submitters, created=_moment(_text(entry.get(":created_at"))))


def _moment(said: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(said.replace(" UTC", "Z").replace(" Z", "Z"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC) if plausible(moment) else None
