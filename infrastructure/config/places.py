"""Where what exists already is: in one region and, for tables, in one account."""

from collections.abc import Iterator

from infrastructure.config.mistakes import Mistake
from infrastructure.config.stage import StageConfig

# In China SQS has no redrive of dead letters, and Lambda no traces:
# https://docs.amazonaws.cn/en_us/aws/latest/userguide/sqs.html
NOT_SUPPORTED = "cn-"
_ALLOWED = "a region outside China, where SQS lacks the redrive and Lambda the traces"


def scattered(config: StageConfig) -> Iterator[Mistake]:
    """List what is not beside the rest of its stage, or in a region that lacks what we need."""
    for path, region in _regions(config):
        if region.startswith(NOT_SUPPORTED):
            yield Mistake(path, f"is in {region}", _ALLOWED)
    for what, parts in (("region", _regions(config)), ("account", _accounts(config))):
        first: tuple[str, str] | None = None
        for path, found in parts:
            first = first or (".".join(path), found)
            if found != first[1]:
                wrong = f"is in {found}, and {first[0]} in {first[1]}"
                yield Mistake(path, wrong, f"one {what} for a stage")


def elsewhere(config: StageConfig, *, region: str | None, account: str | None) -> Iterator[Mistake]:
    """List what is not where a deployment goes to, as far as that is known."""
    if region and region.startswith(NOT_SUPPORTED):
        yield Mistake((), f"the deployment goes to {region}", _ALLOWED)
        return
    goals = (("region", region, _regions(config)), ("account", account, _accounts(config)))
    for what, goal, parts in goals:
        for path, found in parts:
            if goal and found != goal:
                wrong = f"is in {found}, and the deployment goes to {goal}"
                yield Mistake(path, wrong, f"one {what}")


def _regions(config: StageConfig) -> Iterator[tuple[tuple[str, ...], str]]:
    for path, arn in _arns(config):
        yield path, arn.split(":")[3]


def _accounts(config: StageConfig) -> Iterator[tuple[tuple[str, ...], str]]:
    # Functions read a table by its name, which means one of their own account. Secrets, keys and
    # domains are named by their whole address.
    for path, arn in _arns(config):
        if path[-2:] == ("table", "arn"):
            yield path, arn.split(":")[4]


def _arns(config: StageConfig) -> Iterator[tuple[tuple[str, ...], str]]:
    found: list[tuple[tuple[str, ...], str | None]] = []
    for name, source in config.sources.items():
        for setting in ("arn", "encryption_key_arn"):
            found.append(
                (("sources", name, "table", setting), getattr(source.table, setting, None))
            )
    for name, target in config.targets.items():
        for setting in ("api_key_secret_arn", "api_key_encryption_key_arn"):
            found.append((("targets", name, setting), getattr(target, setting)))
    found.append((("encryption_key_arn",), config.encryption_key_arn))
    found.append((("opensearch", "domain_arn"), config.opensearch.domain_arn))
    return ((path, arn) for path, arn in found if arn is not None)
