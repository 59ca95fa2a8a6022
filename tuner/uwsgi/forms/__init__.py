"""Configurations in YAML, XML and JSON, read as uWSGI 2.0.31 reads them: key, value and line.

form         which format a file has, by its suffix; its reader and its way to write a setting
├── yaml_lines   a reader of lines: it stops at the first list, keeps quotes, cuts at every `#`
├── xml_pieces   expat: the first piece of text of an element is its value
├── json_values  jansson: lists repeat the option
├── including    files that a configuration includes, in its place
├── editing      settings changed where they stand
└── reading      what a reader takes, and what uWSGI misreads
"""

from tuner.uwsgi.forms.form import SUFFIXES, XML, Form, form_of, option_for
from tuner.uwsgi.forms.reading import Malformed, Misread, Read, Setting
