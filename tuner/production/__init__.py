"""A look at a running uWSGI: its stats server, queue, cgroup and processes → what limits it.

looking      reads them once a second, and changes nothing
└── observing    looks → the class of each ten seconds, and the answer
"""
