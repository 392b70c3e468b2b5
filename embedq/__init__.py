"""embedq in code of your own: `from embedq import EmbeddingPipeline`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infrastructure.pipeline import EmbeddingPipeline

__all__ = ["EmbeddingPipeline"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Loaded when it is asked for: the CDK takes seconds, and a command or a service has no use
    # for it.
    if name != "EmbeddingPipeline":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from infrastructure.pipeline import EmbeddingPipeline
    except ModuleNotFoundError as error:
        if error.name not in ("aws_cdk", "constructs"):
            raise
        raise ImportError(f"{name} needs the CDK: pip install 'embedq[cdk]'") from error
    return EmbeddingPipeline
