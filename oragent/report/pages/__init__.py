"""What all pages, figures and terminal tables share: escaping, style, drawing, figures in words."""
