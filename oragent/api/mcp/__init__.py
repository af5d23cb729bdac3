"""MCP server: tools and resources with which a coding agent searches, models and verifies."""
