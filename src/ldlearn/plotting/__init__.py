"""Pictures of records and of fitted estimators."""
