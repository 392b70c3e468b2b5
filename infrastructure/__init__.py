"""The CDK app: one construct per outside system."""
