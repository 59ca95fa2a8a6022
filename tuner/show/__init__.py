"""An answer and its evidence, drawn: a page, Markdown, SVG."""
