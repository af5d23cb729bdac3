"""MCP server: tools and resources for coding agents to search, model and verify."""
