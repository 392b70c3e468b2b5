"""What cdk.json says about a source: its table, its key, and what its attributes mean."""

import string
from functools import partial
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from functions.core.frozen import Frozen
from functions.core.settings import Attribute, Ordering, SourceOptions
from infrastructure.config.mistakes import ConfigError, Mistake

KeyArn = Annotated[
    str, StringConstraints(pattern=r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+$")
]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
KEY_NAME_BYTES = 255
_TABLE_ARN = r"^arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table/[A-Za-z0-9_.-]{3,255}$"
_STREAM_ARN = _TABLE_ARN.removesuffix("$") + r"/stream/[A-Za-z0-9:.-]+$"


class TableConfig(Frozen):
    """A table that exists already, with its stream switched on."""

    arn: str = Field(
        pattern=_TABLE_ARN, description="arn:aws:dynamodb:<region>:<account>:table/<name>"
    )
    stream_arn: str = Field(
        pattern=_STREAM_ARN,
        description="the table's LatestStreamArn, .../table/<name>/stream/<label>, best of view"
        " type NEW_IMAGE; a table without a stream gets one by aws dynamodb update-table",
    )
    encryption_key_arn: KeyArn | None = Field(
        None, description="ARN of the KMS key, if the table is encrypted with one of your own"
    )

    @property
    def name(self) -> str:
        return self.arn.rpartition("/")[2]

    @model_validator(mode="after")
    def _stream_belongs_to_table(self) -> "TableConfig":
        if not self.stream_arn.startswith(f"{self.arn}/stream/"):
            raise ConfigError(
                [
                    Mistake(
                        ("stream_arn",),
                        "is the stream of another table",
                        f"it begins with {self.arn}/stream/",
                    )
                ]
            )
        return self


class StreamConfig(Frozen):
    """How Lambda reads the source's stream."""

    batch_size: int = Field(100, ge=1, le=1000, description="... records a call")
    window_seconds: int = Field(
        1, ge=0, le=300, description="... in which Lambda gathers records for a call"
    )
    parallelization: int = Field(
        1, ge=1, le=10, description="... calls at once for each shard; a key keeps its order"
    )


class SourceConfig(SourceOptions):
    """A table with its settings."""

    table: TableConfig | None = Field(
        None, description="... of an existing table, or left out: the stack makes one"
    )
    key: dict[Attribute, Literal["S", "N", "B"]] = Field(
        min_length=1,
        max_length=2,
        description="the table's partition key, then its sort key if it has one, each with its"
        ' type S, N or B, such as {"id": "S"}',
    )
    stream: StreamConfig = StreamConfig()

    @property
    def is_sequential(self) -> bool:
        return self.ordering is Ordering.SEQUENTIAL

    @field_validator("text", "chunk_prefix")
    @classmethod
    def _template_names_attributes(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is None:
            return None
        bad = partial(_bad_template, info.field_name or "text")
        try:
            fields = [field for field in string.Formatter().parse(text) if field[1] is not None]
        except ValueError as error:
            raise bad("has a brace without its partner") from error
        if not fields:
            raise bad("names no attribute")
        for _, name, spec, conversion in fields:
            if not name or spec or conversion or not _is_attribute(name):
                raise bad("holds braces that are not just an attribute name")
        return text

    @model_validator(mode="after")
    def _attributes_have_one_meaning(self) -> "SourceConfig":
        mistakes = []
        seen: dict[str, str] = {}
        for setting in ("type_attribute", "priority_attribute", "skip_attribute"):
            name = getattr(self, setting)
            if name is not None and seen.setdefault(name, setting) != setting:
                wrong = f'"{name}" is the {seen[name]} too'
                mistakes.append(Mistake((setting,), wrong, "an attribute of its own"))
        for setting in ("priority_attribute", "tenant_attribute"):
            if self.is_sequential and getattr(self, setting) is not None:
                wrong = "does not go with ordering sequential, which has one lane"
                mistakes.append(Mistake((setting,), wrong, "leave it out"))
        for name in self.key:
            if len(name.encode()) > KEY_NAME_BYTES:
                wrong = f"has {len(name.encode())} bytes"
                mistakes.append(Mistake(("key", name), wrong, f"at most {KEY_NAME_BYTES}"))
        if mistakes:
            raise ConfigError(mistakes)
        return self

    @field_validator("targets")
    @classmethod
    def _targets_differ(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(targets)) < len(targets):
            raise ConfigError([Mistake((), "names a target twice", "each target once")])
        return targets


def _is_attribute(name: str) -> bool:
    """Tell a name from an expression: parts and numbers of a template name no attribute."""
    return name == name.strip() and not name.isdigit() and not set(name) & set(".[]")


def _bad_template(field: str, wrong: str) -> ConfigError:
    return ConfigError([Mistake((), wrong, SourceConfig.model_fields[field].description or "")])
