"""The probe: runs in the load generator's container, waits for the target and brackets its load.

    python3 -I -S /tuner/probe VERB <JSON, or the file that holds it>

prints one line of JSON. It is copied there as files, and runs on the Python of that image with
nothing of ours around: it imports itself and the standard library only, and of that little, for
its start is part of every window.
"""
