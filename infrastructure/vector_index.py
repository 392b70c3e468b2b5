"""Where the entries go: a domain or an endpoint, and an index that exists before any task."""

from aws_cdk import CustomResource, Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infrastructure.python_function import PythonFunction
from infrastructure.removal import removal_policy
from infrastructure.resource_names import pascal
from infrastructure.search_domain import SearchDomain
from infrastructure.stage_config import StageConfig, index_name

FOLDER = "index_setup"
TIMEOUT_SECONDS = 120
MEMORY_MB = 256


class VectorIndex(Construct):
    """Offer one index, behind an alias, to each target."""

    def __init__(
        self, scope: Construct, id_: str, *, stage: str, config: StageConfig, code: lambda_.Code
    ) -> None:
        super().__init__(scope, id_)
        self._stage = stage
        self._config = config
        self.endpoint = config.opensearch.endpoint or ""
        # None: an endpoint outside AWS, where IAM grants nothing.
        self._domain_arn = config.opensearch.domain_arn
        if config.opensearch.domain is not None:
            domain = SearchDomain(
                self, "Search", stage=stage, config=config, domain=config.opensearch.domain
            )
            self.endpoint, self._domain_arn = domain.endpoint, domain.arn
        self.setup = PythonFunction(
            self,
            "IndexSetup",
            folder=FOLDER,
            stage=stage,
            config=config,
            code=code,
            environment={"INDEX_ENDPOINT": self.endpoint},
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            memory_mb=MEMORY_MB,
        )
        self.indexes = {target: self._index(target) for target in config.targets}

    def paths(self, *paths: str) -> list[str]:
        """Name paths of the domain as IAM resources."""
        return [f"{self._domain_arn}/{path}" for path in paths] if self._domain_arn else []

    def _index(self, target_name: str) -> CustomResource:
        target = self._config.targets[target_name]
        replicas = target.replicas
        if replicas is None:
            replicas = self._config.opensearch.default_replicas
        return CustomResource(
            self,
            pascal(target_name, "index"),
            resource_type="Custom::EmbedqIndex",
            service_token=self.setup.function.function_arn,
            # The function answers by itself; without this a lost answer holds the deployment
            # for an hour.
            service_timeout=Duration.seconds(2 * TIMEOUT_SECONDS),
            # Retained with the data: the function is not asked to delete a kept index.
            removal_policy=removal_policy(self._config),
            properties={
                "Index": index_name(self._stage, target_name, target),
                "Model": target.model,
                "Dimensions": target.vector_dimensions,
                "Metadata": self._config.metadata_of(target_name),
                "Shards": target.shards,
                "Replicas": replicas,
            },
        )
