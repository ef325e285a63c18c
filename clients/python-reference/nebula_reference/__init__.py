"""A second implementation of docs/PROTOCOL.md, for tests of that page and of the server. Not for production."""
