"""The base of every settings model: frozen, and strict about unknown keys."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    # A function builds the models that it reads, not all that it imports.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
