"""Rules across targets and stages: no two of them may use one queue or one index."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from functions.core.lane import lanes_of
from functions.core.names import first_index, read_alias
from infrastructure.config.mistakes import Mistake, Path
from infrastructure.config.stage import StageConfig
from infrastructure.names import dead_letter_queue_name, index_name, lane_queue_name


def shared_names(stages: Mapping[str, StageConfig]) -> list[Mistake]:
    """List queues, indexes and endpoints that two targets or stages would share."""
    return [
        *_shared(_queues(stages), "queue"),
        *_shared(_indexes(stages), "index"),
        *_endpoints_made_twice(stages),
    ]


def _endpoints_made_twice(stages: Mapping[str, StageConfig]) -> Iterator[Mistake]:
    # A VPC takes one endpoint with private names of each service.
    makers: dict[str, str] = {}
    for stage, config in stages.items():
        if config.vpc is not None and config.vpc.endpoints == "make":
            first = makers.setdefault(config.vpc.id, stage)
            if first != stage:
                wrong = f"stage {first} makes those of {config.vpc.id}"
                path = ("stages", stage, "vpc", "endpoints")
                yield Mistake(path, wrong, "exist, and no route_tables")


def _shared(uses: Iterator[tuple[Path, str, str]], what: str) -> Iterator[Mistake]:
    seen: dict[str, Path] = {}
    refused: set[Path] = set()
    for path, name, shown in uses:
        other = seen.setdefault(name, path)
        if other != path and path not in refused:
            refused.add(path)
            wrong = f"{what} {shown} is that of {'.'.join(map(str, other))} too"
            yield Mistake(path, wrong, "use another name")


def _queues(stages: Mapping[str, StageConfig]) -> Iterator[tuple[Path, str, str]]:
    for stage, config in stages.items():
        for target in config.targets:
            names = [dead_letter_queue_name(stage, target, fifo=fifo) for fifo in (True, False)]
            lanes = lanes_of(config.sequential_sources_of(target))
            names += [lane_queue_name(stage, target, lane, source) for lane, source in lanes]
            for name in names:
                yield ("stages", stage, "targets", target), name, name


def _indexes(stages: Mapping[str, StageConfig]) -> Iterator[tuple[Path, str, str]]:
    for stage, config in stages.items():
        # A domain that is made here has the indexes of its stage only.
        place = urlsplit(config.opensearch.endpoint or f"https://{stage}").hostname
        for name, target in config.targets.items():
            alias = index_name(stage, name, target)
            # The alias, the index behind it, and the alias of searches.
            for taken in (alias, first_index(alias), read_alias(alias)):
                yield ("stages", stage, "targets", name, "index"), f"{place}/{taken}", f'"{taken}"'
