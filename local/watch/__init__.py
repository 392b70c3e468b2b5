"""CloudWatch on one machine: metrics, and the alarms of the template evaluated over them."""
