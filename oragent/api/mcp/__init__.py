"""MCP server: tools for coding agents to search, model and verify."""
