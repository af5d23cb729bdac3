"""School stakeholders: their utilities, their texts, and files of them."""
