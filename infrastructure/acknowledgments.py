"""Findings of the security scan that we accept, each at its construct and with its reason."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept one AWS Solutions rule of cdk-nag for a construct and what is under it."""
    Validations.of(construct).acknowledge(
        Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason)
    )
