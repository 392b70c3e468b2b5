"""The deployed template itself, in the words of one-machine mode."""

from local.template.intrinsics import TemplateError
from local.template.references import Site
from local.template.stack import read_stack
from local.template.stage import LocalAddresses, LocalModel
from local.template.synthesis import SynthesisError, local_template

__all__ = [
    "LocalAddresses",
    "LocalModel",
    "Site",
    "SynthesisError",
    "TemplateError",
    "local_template",
    "read_stack",
]
