"""Joint models: degrees for the training rows and a predictor, from one objective. One file per method."""

__all__: list[str] = []
