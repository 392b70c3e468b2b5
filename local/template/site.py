"""Where a template is read for: account, region and the one endpoint of this machine."""

from dataclasses import dataclass

from local.engines.elasticmq import ACCOUNT, REGION


@dataclass(frozen=True)
class Site:
    """What CloudFormation's pseudo parameters stand for here."""

    stack: str
    endpoint_url: str  # of the one AWS endpoint
    region: str = REGION
    account: str = ACCOUNT
    partition: str = "aws"

    def arn(self, service: str, resource: str) -> str:
        """Name a resource of this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def queue_url(self, name: str) -> str:
        """Return where a queue's calls go: to the one endpoint."""
        return f"{self.endpoint_url.rstrip('/')}/{self.account}/{name}"

    def pseudo_parameters(self) -> dict[str, str]:
        """Return the values of AWS::Region and its like."""
        return {
            "AWS::AccountId": self.account,
            "AWS::Partition": self.partition,
            "AWS::Region": self.region,
            "AWS::StackId": self.arn("cloudformation", f"stack/{self.stack}/{self.stack}"),
            "AWS::StackName": self.stack,
            "AWS::URLSuffix": "amazonaws.com",
        }
