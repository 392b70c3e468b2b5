"""A CDK app of another person, which has the wheel and nothing of this checkout."""

import sys

from aws_cdk import App, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from embedq import EmbeddingPipeline

app = App(outdir=sys.argv[1])
stack = Stack(app, "Shop")
products = dynamodb.TableV2(
    stack,
    "Products",
    partition_key=dynamodb.Attribute(name="sku", type=dynamodb.AttributeType.STRING),
    dynamo_stream=dynamodb.StreamViewType.NEW_IMAGE,
)
EmbeddingPipeline(
    stack,
    "Embeddings",
    stage="shop",
    settings={
        "sources": {"products": {"key": {"sku": "S"}, "text": "{name}: {description}"}},
        "targets": {"default": {"model": "text-embedding-3-small"}},
        "opensearch": {"domain": {"instance_type": "r7g.large.search", "instance_count": 2}},
    },
    tables={"products": products},
    api_keys={"default": secretsmanager.Secret(stack, "ProviderKey")},
    alarm_topics={"warning": sns.Topic(stack, "News"), "critical": sns.Topic(stack, "OnCall")},
    vpc=ec2.Vpc(stack, "Network", max_azs=2),
)
app.synth()
