"""The one AWS endpoint of this machine: every SDK and the aws command line work against it."""

from local.endpoint.lambda_functions import Functions
from local.endpoint.lambda_mappings import Mappings, MappingStatus
from local.endpoint.server import AwsEndpoint
from local.endpoint.upstream import EngineUrls

__all__ = ["AwsEndpoint", "EngineUrls", "Functions", "MappingStatus", "Mappings"]
