"""Capacity and cost before there is a bill: from a table or numbers to lanes, time and dollars."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ops import frame
from ops.frame import PLACE, SOURCE, TARGET, Noun
from ops.numbers import Amount, Count
from ops.output import UsageError, say
from ops.plan.answers import Checked, Plan, PlannedCost, PlannedLane, PlannedLimit, Simulated

if TYPE_CHECKING:
    from ops.deployment import Deployment
    from ops.plan.capacity import Limit
    from ops.plan.workload import Worked, Workload

NOUN = Noun("State")


@NOUN.command(
    click.Option(["--documents"], type=Count(0), help="How many there are to load."),
    click.Option(["--tokens"], type=Amount(1), help="Of one document."),
    click.Option(["--bytes"], type=Amount(1), help="Of one item."),
    click.Option(
        ["--writes-per-second"],
        type=Amount(0),
        default=0.0,
        help="Of the application, after and during the load.",
    ),
    click.Option(["--model"], metavar="NAME", help="Without a stack; text-embedding-3-small."),
    click.Option(["--dimensions"], type=Count(1, 16_000), help="Of the vectors."),
    click.Option(
        ["--tokens-per-minute"], type=Count(1), help="The account's limit at the provider."
    ),
    click.Option(["--requests-per-minute"], type=Count(1), help="The same of requests."),
    click.Option(
        ["--simulate"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE.svg",
        help="Run the load with a throttled hour, an hour's outage and healing; draw it there.",
    ),
    click.Option(
        ["--check"],
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE.json",
        help="Compare a plan that --json printed with what was metered since.",
    ),
    SOURCE,
    TARGET,
    *PLACE,
    examples=[
        "plan --documents 1000000 --tokens 300 --writes-per-second 5",
        "plan --stage prod --writes-per-second 5 --json > plan.json",
        "plan --stage prod --check plan.json",
        "plan --documents 100000000 --tokens 300 --tokens-per-minute 100000000 --simulate load.svg",
    ],
)
def plan(
    *,
    documents: int | None,
    tokens: float | None,
    bytes: float | None,
    writes_per_second: float,
    model: str | None,
    dimensions: int | None,
    tokens_per_minute: int | None,
    requests_per_minute: int | None,
    simulate: Path | None,
    check: Path | None,
    source: str | None,
    target: str | None,
    stage: str | None,
    profile: str | None,
    region: str | None,
) -> Plan | Simulated | Checked:
    """Plan lanes, time and dollars, from a sample of a table or, with --documents, from numbers."""
    if check is not None:
        from ops.plan.metered import checked

        return checked(frame.connect(stage, profile, region), check)
    limits = {"tokens_per_minute": tokens_per_minute, "requests_per_minute": requests_per_minute}
    if documents is not None and stage is None:
        workload = _given(documents, tokens, bytes, writes_per_second)
        worked, name = _settings(model, dimensions, limits)
    else:
        if model or dimensions:
            raise UsageError("--model and --dimensions are those of the stack: leave them out")
        deployment = frame.connect(stage, profile, region)
        workload, worked, name = of_stack(
            deployment, source, target, limits, writes_per_second=writes_per_second
        )
    if simulate is not None:
        from ops.plan.picture import draw
        from ops.plan.simulation import simulated

        story = simulated(worked, workload)
        simulate.write_text(draw(story))
        return story.summary(str(simulate))
    return planned(worked, workload, model=name)


def planned(worked: "Worked", workload: "Workload", *, model: str) -> Plan:
    """Put the parts of a plan together."""
    from infrastructure.config.prices import PRICES_OF
    from ops.plan import capacity, costs
    from ops.plan.domain import domain_for

    domain = domain_for(workload.all_chunks, worked.dimensions)
    load = capacity.limits(worked, workload, domain)
    first = load[0]
    return Plan(
        made=datetime.now(UTC),
        prices_of=PRICES_OF,
        model=model,
        dimensions=worked.dimensions,
        documents=workload.documents,
        tokens=workload.all_tokens,
        chunks=workload.all_chunks,
        tokens_of_one=workload.tokens,
        chunks_of_one=workload.chunks,
        item_bytes=round(workload.item_bytes),
        writes_per_second=workload.writes_per_second,
        seconds=first.seconds(workload.documents),
        is_bound_by_settings=first.is_configured,
        lanes=tuple(
            PlannedLane(
                lane=str(one.lane),
                documents_per_second=one.documents_per_second,
                run_seconds=one.run_seconds,
                concurrency=one.concurrency,
            )
            for one in capacity.lanes(worked, workload, first.documents_per_second)
        ),
        load_limits=tuple(map(_limit, load)),
        live_limits=tuple(map(_limit, capacity.live_limits(worked, workload, domain))),
        instance_type=domain.instance_type,
        instance_count=domain.count,
        volume_gb=domain.volume_gb,
        dollars=tuple(
            PlannedCost(part=one.part, load=one.load, month=one.month)
            for one in costs.costs(worked, workload, domain)
        ),
        is_priced=worked.usd_per_million_tokens is not None,
    )


def _limit(one: "Limit") -> PlannedLimit:
    return PlannedLimit(limit=one.name, documents_per_second=one.documents_per_second, ask=one.ask)


def _given(
    documents: int, tokens: float | None, item_bytes: float | None, writes_per_second: float
) -> "Workload":
    from functions.core.settings import TargetOptions
    from ops.plan.workload import Workload

    if tokens is None:
        raise UsageError("how large is a document? --tokens N, or without --documents from a table")
    each = TargetOptions.model_fields["chunk_tokens"].default
    # English has about four bytes in a token.
    return Workload(
        documents, tokens, max(tokens / each, 1.0), item_bytes or 4 * tokens, writes_per_second
    )


def _settings(
    model: str | None, dimensions: int | None, limits: dict[str, int | None]
) -> tuple["Worked", str]:
    from pydantic import ValidationError

    from functions.adapters.bedrock_models import MODEL_IDS
    from functions.adapters.openai_limits import MODEL_DIMENSIONS
    from infrastructure.config.target import TargetConfig
    from ops.plan.workload import Worked

    name = model or "text-embedding-3-small"
    options: dict[str, Any] = {"model": name, "dimensions": dimensions}
    if name in MODEL_IDS:
        options["provider"] = "bedrock"
    elif name not in MODEL_DIMENSIONS:
        if dimensions is None:
            raise UsageError(f"the model {name} is not known here: say its --dimensions")
        # Where it answers is no matter of a plan.
        options |= {"provider": "compatible", "base_url": "https://localhost"}
    try:
        target = TargetConfig(**options)
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["ctx"]["error"])) from error
    return Worked.of(target, dimensions=target.vector_dimensions, **limits), name


def of_stack(
    deployment: "Deployment",
    source: str | None,
    target: str | None,
    limits: dict[str, int | None],
    *,
    writes_per_second: float,
) -> tuple["Workload", "Worked", str]:
    """Take a sample of a table, and the settings of its target; return also the model."""
    from ops.backfilling import only_pair
    from ops.plan.workload import Worked, sampled
    from ops.verification import comparison

    pair = only_pair(deployment, source, target)
    say("reading a sample of the table")
    workload = sampled(comparison(deployment, pair), writes_per_second)
    if not workload.chunks:
        raise UsageError("no item of the table has a text yet: plan with --documents and --tokens")
    settings = pair.target
    return workload, Worked.of(settings, dimensions=settings.dimensions, **limits), settings.model
