"""The search tower: it knows a problem only as data and a candidate only as text."""
