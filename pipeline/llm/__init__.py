"""The only place that knows models. Asked through `client.Client`; adapters by name in `providers.PROVIDERS`."""
