"""The one AWS endpoint of this machine: every SDK and the aws command line work against it."""

from local.endpoint.engines import EngineUrls
from local.endpoint.lambda_api import Functions, Mappings, MappingStatus
from local.endpoint.server import AwsEndpoint

__all__ = ["AwsEndpoint", "EngineUrls", "Functions", "MappingStatus", "Mappings"]
