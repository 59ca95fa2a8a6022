"""One measurement on this host: containers, load, windows, scenes."""
