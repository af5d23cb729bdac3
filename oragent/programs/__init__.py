"""Programs as text: extraction from replies, parsing, checks of signatures, and canonical forms."""
