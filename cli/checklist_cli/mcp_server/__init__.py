"""A Model Context Protocol server on top of the REST API: the service, the tools and their shapes, the protocol.

It needs the extra `mcp` of the package; only `commands.mcp` imports it, when it runs.
"""
