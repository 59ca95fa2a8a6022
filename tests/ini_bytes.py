"""Files as bytes, which need not be UTF-8: read and written as the command line does."""

from tuner.uwsgi.ini import IniFile

_CODEC = ("utf-8", "surrogateescape")


def parsed(content: bytes) -> IniFile:
    """Any bytes as a file; those that are not UTF-8 become lone surrogates."""
    return IniFile.parse(content.decode(*_CODEC))


def dumped(ini: IniFile) -> bytes:
    """The bytes of a file that was read from bytes."""
    return ini.dump().encode(*_CODEC)
