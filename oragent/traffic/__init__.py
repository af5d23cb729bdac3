"""What the evaluators of driving share: guests at the wheel, demands, figures, pictures."""
