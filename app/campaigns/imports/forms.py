"""What the import's forms send."""

from dataclasses import dataclass

from litestar.datastructures import FormMultiDict, UploadFile

from app.kernel.errors import Invalid


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A file and the campaign it is for."""

    campaign: str
    file_name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class MappingForm:
    """The campaign, and one target for each column in the file's order (none: the proposal is wanted).

    `waits`: people who are busy elsewhere wait for their turn; else they are left out.
    """

    campaign: str
    targets: tuple[str, ...]
    waits: bool = True


async def read_upload(form: FormMultiDict) -> UploadForm:
    """Return the upload. Raises Invalid when no file was chosen."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise Invalid("Choose a CSV file first.", field="file")
    return UploadForm(campaign=_text(form, "campaign"), file_name=file.filename, content=await file.read())


def read_mapping(form: FormMultiDict) -> MappingForm:
    """Return the chosen columns."""
    targets = tuple(str(value) for value in form.getall("column", []))
    return MappingForm(
        campaign=_text(form, "campaign"), targets=targets, waits=_text(form, "when_busy") != "refuse"
    )


def _text(form: FormMultiDict, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""
