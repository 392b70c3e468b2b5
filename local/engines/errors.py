"""What can go wrong with an engine, each as one sentence for the person at the terminal."""

WITHOUT_ENGINES = "or run with `--engines memory`, which needs no download and no Java"


class EngineError(Exception):
    """An engine could not be fetched, started or stopped."""


class FetchError(EngineError):
    """A pinned file could not be had from the Maven repository."""


class ChecksumError(EngineError):
    """A fetched file is not the one that was pinned."""


class JavaMissingError(EngineError):
    """No usable Java runtime was found."""


class EngineStartError(EngineError):
    """An engine ended, or did not answer in time, while it was started."""


class EnginesRunningError(EngineError):
    """Another process already runs engines on this folder."""
