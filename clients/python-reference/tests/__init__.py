"""Tests of the reference client without a server."""
