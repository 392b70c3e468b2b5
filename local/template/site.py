"""Where a template is read for: the name of its stack and the one AWS endpoint of this machine."""

from dataclasses import dataclass

from local.aws_client import ACCOUNT, REGION, local_arn


@dataclass(frozen=True)
class Site:
    """What CloudFormation's pseudo parameters stand for here."""

    stack: str
    endpoint_url: str

    def queue_url(self, name: str) -> str:
        """Return where a queue's calls go: to the one endpoint."""
        return f"{self.endpoint_url.rstrip('/')}/{ACCOUNT}/{name}"

    def pseudo_parameters(self) -> dict[str, str]:
        """Return the values of AWS::Region and its like."""
        return {
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "AWS::StackId": local_arn("cloudformation", f"stack/{self.stack}/{self.stack}"),
            "AWS::StackName": self.stack,
            "AWS::URLSuffix": "amazonaws.com",
        }
