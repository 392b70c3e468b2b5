"""Rules of a target that is to replace another: both are fed alike until the old one is removed."""

from collections.abc import Iterator

from infrastructure.config.mistakes import Mistake, one_of
from infrastructure.config.stage import StageConfig


def unknown_replaced(config: StageConfig) -> Iterator[Mistake]:
    """Refuse to replace what is not there: a name with a mistake, or a target that was removed."""
    for name, target in config.targets.items():
        if target.replaces is not None and target.replaces not in config.targets:
            others = [other for other in config.targets if other != name]
            allowed = one_of(target.replaces, others) if others else "another target"
            yield Mistake(
                ("targets", name, "replaces"),
                f'"{target.replaces}" is no target of this stage',
                f"{allowed}; once the replaced target is removed, this line goes, too",
            )


def replacement_mistakes(config: StageConfig) -> Iterator[Mistake]:
    """Refuse what `embedq migrate` could not carry through."""
    successors: dict[str, str] = {}
    for name, target in config.targets.items():
        replaced = target.replaces
        if replaced is None:
            continue
        path = ("targets", name, "replaces")
        if replaced == name:
            yield Mistake(path, "is the target itself", "the target that was there before")
        elif (further := config.targets[replaced].replaces) is not None:
            wrong = f"{replaced} replaces {further} itself"
            yield Mistake(path, wrong, f"finish that migration first, or replace {further}")
        elif successors.setdefault(replaced, name) != name:
            wrong = f"{successors[replaced]} replaces {replaced}, too"
            yield Mistake(path, wrong, "one target that replaces another")
        else:
            yield from _fed_differently(config, name, replaced)


def _fed_differently(config: StageConfig, name: str, replaced: str) -> Iterator[Mistake]:
    for source, found in config.sources.items():
        fed = {name, replaced} & set(found.targets)
        if len(fed) == 1:
            wrong = f"has {fed.pop()} alone, and {name} replaces {replaced}"
            allowed = f"{replaced} and {name}: every write goes to both until {replaced} is removed"
            yield Mistake(("sources", source, "targets"), wrong, allowed)
