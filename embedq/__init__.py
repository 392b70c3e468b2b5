"""embedq in code of your own: a construct for the CDK, and search for a service."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infrastructure.pipeline import EmbeddingPipeline
    from ops.client import embed, search, status, wait

__all__ = ["EmbeddingPipeline", "embed", "search", "status", "wait"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Loaded when it is asked for: the CDK takes seconds, and a command or a service has no use
    # for it.
    if name == "EmbeddingPipeline":
        return _construct()
    if name in __all__:
        from ops import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _construct() -> object:
    try:
        from infrastructure.pipeline import EmbeddingPipeline
    except ModuleNotFoundError as error:
        if error.name not in ("aws_cdk", "constructs"):
            raise
        raise ImportError("EmbeddingPipeline needs the CDK: pip install 'embedq[cdk]'") from error
    return EmbeddingPipeline
