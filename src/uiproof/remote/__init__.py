"""Data and runs that lie at URLs such as `s3://bucket/pages`: brought here, and kept there."""
