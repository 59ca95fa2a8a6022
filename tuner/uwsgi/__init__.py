"""uWSGI's own formats: its ini files and its stats JSON. Pure text in, pure values out."""
