"""uWSGI's own formats: ini and other files, commands, stats JSON. Pure text in, values out."""
