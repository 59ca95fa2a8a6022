"""A look at what runs, and at where it runs. Nothing is changed.

observing    looks at a running uWSGI → the class of each ten seconds, and the answer
doctor       what this host can measure, and how to make it better
└── looking      reads the stats server, queue and cgroup once a second
"""
