"""Programs as text: extract them from replies, parse them, check their signature, compute their canonical form."""
