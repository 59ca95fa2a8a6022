"""Configurations in YAML and XML: what uWSGI takes from each; for our readers and the real one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """A file, the options that uWSGI takes from it, and the lines that it misreads."""

    text: str
    taken: tuple[str, ...]
    misread: tuple[int, ...] = ()
    section: str = ""


YAML = {
    "comments and blanks": Written(
        "# top\nuwsgi:\n  # a comment\n  processes: 4 # four\n\n# zero\n  master: true",
        ("processes = 4", "master = true"),
    ),
    "quotes stay": Written('uwsgi:\n  threads: "2"\n', ('threads = "2"',)),
    "a list ends it": Written(
        "uwsgi:\n  processes: 4\n  env:\n    - A=1\n  master: true\n", ("processes = 4",), (3,)
    ),
    "a list below ends it": Written(
        "uwsgi:\n  processes: 4\n  - A: 1\n  master: true\n", ("processes = 4",), (3,)
    ),
    "a list in a line is a value": Written(
        "uwsgi:\n  env: [A=1, B=2]\n", ("env = [A=1, B=2]",), (2,)
    ),
    "a placeholder of a template": Written("uwsgi:\n  env: {{ n }}\n", ("env = {{ n }}",)),
    "a text of lines": Written("uwsgi:\n  env: |\n    foo\n", ("env = |",), (2, 3)),
    "a colon without a blank": Written(
        "uwsgi:\n  http: 127.0.0.1:80\n  y:z\n  threads: 2\n", ("http = 127.0.0.1:80",), (3,)
    ),
    "depth does not matter": Written(
        "---\nother:\n  x: 1\nuwsgi:\n    processes: 4\n  threads: 3\n\tmaster: true\nnext:\n"
        "  cheaper: 1\n",
        ("processes = 4", "threads = 3", "master = true"),
    ),
    "another section": Written(
        "uwsgi:\n  processes: 4\nprod:\n  threads: 3\n", ("threads = 3",), (), "prod"
    ),
    "a sign in a word": Written("uwsgi:\n  env: A=a#b\n", ("env = A=a",), (2,)),
    "a carriage return": Written(
        "uwsgi:\r\n  processes: 4\r\n\r\n  threads: 3\r\n", ("processes = 4", "threads = 3"), (2,)
    ),
    "an inline mapping": Written("uwsgi: {processes: 4}\n", (), (1,)),
    "a quoted section": Written('"uwsgi":\n  processes: 4\n', (), (1,)),
    "an indented section": Written("  uwsgi:\n    processes: 4\n", (), (1,)),
}
XML = {
    "flags and repeats": Written(
        "<uwsgi>\n<master/><threads>2</threads>\n<!-- c --><env>A=1</env><env>B=2</env>\n</uwsgi>",
        ("master = 1", "threads = 2", "env = A=1", "env = B=2"),
    ),
    "an empty value is 1": Written("<uwsgi><threads></threads></uwsgi>", ("threads = 1",)),
    "an entity ends a value": Written(
        "<uwsgi>\n<env>A=a&amp;b</env></uwsgi>", ("env = A=a",), (2,)
    ),
    "a line of its own": Written(
        "<uwsgi><env>A=1</env>\n<env>\n  B=2\n</env></uwsgi>", ("env = A=1", "env ="), (2,)
    ),
    "blanks stay": Written("<uwsgi><env> A=1 </env></uwsgi>", ("env = A=1",), (1,)),
    "a text that is no markup": Written(
        "<uwsgi><env><![CDATA[A=<&]]></env></uwsgi>", ("env = A=<&",)
    ),
    "every block": Written(
        '<r><uwsgi id="p"><processes>4</processes></uwsgi><uwsgi><threads>3</threads></uwsgi></r>',
        ("processes = 4", "threads = 3"),
    ),
    "one block": Written(
        '<r><uwsgi id="p"><processes>4</processes></uwsgi><uwsgi><threads>3</threads></uwsgi></r>',
        ("processes = 4",),
        (),
        "p",
    ),
    "behind the end": Written("<uwsgi><threads>3</threads></uwsgi><uwsgi/>", ("threads = 3",)),
}
