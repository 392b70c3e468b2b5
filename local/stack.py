"""The whole stack on this machine: engines, model, endpoint, resources and functions.

Everything is read from the synthesized template; nothing outlives the process that started it.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from functions.adapters.dynamodb_ledger import DynamoDbLedger
from functions.adapters.sqs_tasks import SqsTasks
from functions.core.settings import EnqueueSettings
from infrastructure.function_table import FUNCTIONS
from local.aws_client import ACCOUNT, local_client
from local.background import ENGINES
from local.endpoint.engines import EngineUrls
from local.endpoint.server import AwsEndpoint
from local.engines import start_engines
from local.engines.dynamodb import DynamoDb
from local.engines.elasticmq import ElasticMq
from local.engines.opensearch import OpenSearch
from local.engines.ports import Ports
from local.files import private_folder
from local.mapping_states import RunnerMappings
from local.processes import Processes, Program, wait_for
from local.recovery import bring_dead_letters_back, send_open_again
from local.resources import create_indexes, create_resources
from local.runner.place import RunnerPlace
from local.runner.runner import Runner
from local.specs import StackSpec
from local.stages import CHECKOUT, STANDARD, ChosenStage
from local.template.references import Site
from local.template.stack import read_stack
from local.template.stage import MINILM, LocalAddresses, LocalModel, changes_here
from local.template.synthesis import local_template
from local.watch.collector import Watch
from scripts.build_zips import Package, build

EVENTS = "events.jsonl"
# The model server takes any; no output may show this one.
API_KEY = "key-of-this-machine"
MODEL_START_SECONDS = 60.0
MODEL_GRACE_SECONDS = 10.0
# Made of the checkout alone, so that a new folder needs no new synthesis.
TEMPLATES = CHECKOUT / "build" / "templates"
# Hashed vectors stand in for any model, so for load tests they are as large as OpenAI's.
MODELS = {"minilm": MINILM, "hashed": LocalModel("text-embedding-3-small", 1536, 768)}

Log = Callable[[str], None]
Change = Callable[[StackSpec], StackSpec]


class StackError(Exception):
    """The stack could not be started; the message says what to do."""


@dataclass(frozen=True)
class LocalStack:
    """A stack that runs."""

    endpoint_url: str
    model_origin: str
    opensearch_url: str
    spec: StackSpec
    runner: Runner
    ended: Callable[[], tuple[str, ...]]  # names the engines that have ended
    events_file: Path  # what was sent to EventBridge, one event a line
    watch: Watch  # metrics and alarms

    def client(self, service: Any) -> Any:
        """Make a client of an AWS service of this stack."""
        return local_client(service, self.endpoint_url)


def unchanged(spec: StackSpec) -> StackSpec:
    """Run the stack as the template has it."""
    return spec


@contextmanager
def local_stack(
    folder: Path,
    *,
    log: Log,
    stage: ChosenStage = STANDARD,
    vectors: str = "minilm",
    model: LocalModel | None = None,
    in_memory: bool = False,
    short_lived: bool = False,
    port: int | None = None,
    change: Change = unchanged,
) -> Iterator[LocalStack]:
    """Start everything, in the order of its needs; stop it in the other.

    `port` is that of the AWS endpoint; without it, the one of the last time on this folder.
    `model` is another one than that of the vectors, such as one of fewer dimensions.
    `change` may shorten what the template says before anything is made: timeouts, schedules.
    """
    private_folder(folder)
    ports = Ports(folder, log)
    endpoint_port = ports.take("AWS endpoint", asked=port)
    with ExitStack() as running:
        prepared = running.enter_context(ThreadPoolExecutor(1)).submit(
            _prepare, stage, model or MODELS[vectors], log
        )
        processes = running.enter_context(Processes())
        model_port = ports.take("model server")
        model_address = _start_model_server(processes, folder, vectors, model_port)
        engines = running.enter_context(
            start_engines(
                folder / ENGINES,
                log=log,
                ports=ports,
                in_memory=in_memory,
                short_lived=short_lived,
                maps_files="32x" not in stage.compressions(),
            )
        )
        dynamodb_url, sqs_url = engines.url(DynamoDb), engines.url(ElasticMq)
        opensearch_url = engines.url(OpenSearch)
        template = prepared.result()
        model_origin = model_address()
        endpoint = running.enter_context(
            AwsEndpoint(
                EngineUrls(dynamodb_url, sqs_url),
                port=endpoint_port,
                events_file=folder / EVENTS,
            )
        )
        site = Site(stage.stack, endpoint.url)
        addresses = LocalAddresses(opensearch_url, model_origin)
        spec = change(read_stack(addresses.put_into(template), site))
        if spec.ignored:
            log(f"not run here: {', '.join(sorted(spec.ignored))}")
        place = RunnerPlace(
            folder / "runner",
            sqs_url=sqs_url,
            dynamodb_url=dynamodb_url,
            aws_url=endpoint.url,
            code_root=CHECKOUT / "build" / "local",
            bytecode=CHECKOUT / "build" / "bytecode",
        )
        watch = Watch(place.folder / "logs")
        runner = Runner(
            place,
            spec.functions,
            spec.queue_mappings,
            spec.stream_mappings,
            spec.schedules,
            measured=watch.calls.measured,
        )
        running.callback(runner.stop)
        # The functions load while tables, queues and index are made.
        runner.warm()
        spec = create_resources(spec, site, secrets=dict.fromkeys(spec.secrets, API_KEY))
        create_indexes(spec, opensearch_url)
        endpoint.serve_stack(spec)
        endpoint.serve_logs(place.log("").parent, spec)
        endpoint.serve_metrics(watch)
        endpoint.serve_functions(runner)
        endpoint.serve_mappings(RunnerMappings(runner, spec))
        _bring_back(spec, endpoint.url, log)
        runner.start()
        running.callback(watch.stop)
        watch.start(
            spec.alarms,
            local_client("sqs", sqs_url),
            {queue.name: f"{sqs_url}/{ACCOUNT}/{queue.name}" for queue in spec.queues},
            lambda: {name: counts.discarded for name, counts in runner.statistics().items()},
        )
        yield LocalStack(
            endpoint_url=endpoint.url,
            model_origin=model_origin,
            opensearch_url=opensearch_url,
            spec=spec,
            runner=runner,
            ended=engines.ended,
            events_file=folder / EVENTS,
            watch=watch,
        )


def _start_model_server(
    processes: Processes, folder: Path, vectors: str, port: int
) -> Callable[[], str]:
    """Run the model server as a process of its own; return how to ask for its address."""
    log, port_file = folder / "model.log", folder / "model.port"
    log.unlink(missing_ok=True)
    port_file.unlink(missing_ok=True)
    command = (sys.executable, "-m", "local.provider", "--vectors", vectors)
    process = processes.start(
        Program(
            command=(*command, "--port", str(port), "--port-file", str(port_file)),
            folder=CHECKOUT,
            environment={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            log=log,
            grace_seconds=MODEL_GRACE_SECONDS,
        )
    )

    def address() -> str:
        wait_for(lambda: port_file.exists() or process.has_ended, MODEL_START_SECONDS)
        if not port_file.exists():
            raise StackError(f"the model server did not start: see {log}")
        return f"http://127.0.0.1:{port_file.read_text().strip()}"

    return address


def _prepare(stage: ChosenStage, model: LocalModel, log: Log) -> str:
    """Pack the functions and return the template: work that needs no engine."""
    # moto takes over a second to import, and is needed as soon as the engines are there.
    importlib.import_module("moto.moto_server.werkzeug_app")
    # Another stack of this checkout may start at the same time.
    with FileLock(CHECKOUT / "build" / "local.lock"):
        for name in FUNCTIONS:
            build(Package(name, CHECKOUT, "local"))
        log("functions packed as for Lambda, with this machine's wheels")
        template = local_template(cache=TEMPLATES, stage=stage, model=model)
        log("template synthesized")
    if not stage.is_standard:
        for line in changes_here(stage.read(), model):
            log(line)
    return template


def _bring_back(spec: StackSpec, endpoint_url: str, log: Log) -> None:
    """Bring back what was in the queues before a restart: they live in memory here."""
    [enqueue] = [function for function in spec.functions if function.folder == "enqueue"]
    settings = EnqueueSettings.from_environment(enqueue.environment)
    ledger = DynamoDbLedger(local_client("dynamodb", endpoint_url), settings.ledger_table)
    sqs = local_client("sqs", endpoint_url)
    tasks = SqsTasks(sqs, settings.queues)
    made, given_up = bring_dead_letters_back(ledger, tasks, sqs, settings.queues)
    if given_up:
        log(f"{made} of {given_up} dead letters made again, as the queues start empty")
    sent, found = send_open_again(ledger, tasks)
    if found:
        log(f"{sent} of {found} open documents sent again, as the queues start empty")
