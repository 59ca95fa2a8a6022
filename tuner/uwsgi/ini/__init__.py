"""uWSGI's ini dialect: read without losing a byte, patch without other changes.

It is not the ini of Python's configparser: there are no inline comments, no quotes and no
continuation lines (but a `%` at the end of a line eats the line's end, even in a comment); a
section header loses its last character whatever that is; of a repeated scalar the last one wins; a
key without `=` is legal. (uWSGI 2.0.31: core/ini.c, core/config.c.)

    file         IniFile: parse, ask, patch, annotate, dump; the same changes as a second file
    ├── lines        text → lines, each with its section, key and value
    └── walking      the interpreter of includes and blocks: the order of reading
    effective    the settings that uWSGI would use, on the same interpreter
    └── expansion    %(option), arithmetic, $(ENV), @(file), %k
    problems     what cannot be read as it is meant; XML, YAML and JSON, which are no ini
"""

from tuner.uwsgi.ini.effective import Setting, effective
from tuner.uwsgi.ini.file import IniFile, overlay
from tuner.uwsgi.ini.lines import (
    CLOSES,
    IMMEDIATE,
    INCLUDES,
    MARK,
    OPENS,
    SECTION,
    Line,
    as_int,
    as_text,
    canonical,
    is_true,
    why_unwritable,
)
from tuner.uwsgi.ini.problems import Problem, problems, refuse_other_formats
from tuner.uwsgi.ini.walking import Step, Walk
