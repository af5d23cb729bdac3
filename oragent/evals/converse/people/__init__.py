"""School stakeholders: their utilities, their texts, and sets of them as files."""
