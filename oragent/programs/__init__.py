"""Programs as text: taken out of replies, parsed, held to a signature, and known again by their canonical form."""
