"""What production does: access logs → the requests, weights and rates of a workload.

lines        compressed streams → lines, without the prefixes of containers and syslog
formats      a line → a request, by a table of formats
└── own_formats  the same for the user's own log-format and log_format
templates    paths → templates; what is private is masked here, before anything is kept
counting     requests → counts of templates, seconds and users; what is no load is left out
workload     counts → a workload with its evidence in comments
"""
