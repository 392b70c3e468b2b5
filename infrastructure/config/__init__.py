"""cdk.json in its typed form: each setting once, and each mistake on one line."""
