"""The app and the interpreter that it runs in."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "module": Note(sentence="The app, as `package.module:callable`.", advice=Advice.NEVER),
    "wsgi-file": Note(sentence="The app, as a file.", advice=Advice.NEVER),
    "callable": Note(
        sentence="The app's name in its module.", default="application", advice=Advice.NEVER
    ),
    "mount": Note(
        sentence="An app under a path, as in `/shop=shop.wsgi`.",
        rules=("Together with `manage-script-name` where the app must know its path.",),
        advice=Advice.NEVER,
    ),
    "manage-script-name": Note(sentence="Takes the mount's path out of PATH_INFO."),
    "home": Note(sentence="The virtualenv or Python to run in.", advice=Advice.NEVER),
    "pythonpath": Note(sentence="A directory to import from.", advice=Advice.NEVER),
    "chdir": Note(sentence="The directory to start in.", advice=Advice.NEVER),
    "env": Note(sentence="A variable of the environment, as `NAME=value`.", advice=Advice.NEVER),
    "import": Note(sentence="A module to import once the app is there."),
    "shared-import": Note(sentence="A module to import in every process, mules too."),
    "paste": Note(sentence="The app, as a paste.deploy file.", advice=Advice.NEVER),
    "pyargv": Note(sentence="What sys.argv holds."),
    "single-interpreter": Note(
        sentence="Apps share Python's main interpreter.",
        default="false",
        rules=(
            "Cures C extensions that fail in sub-interpreters, numpy among them.",
            "Several apps see each other's modules.",
        ),
    ),
    "need-app": Note(
        sentence="Ends with code 22 where the app cannot be imported.",
        default="false",
        rules=("Without it a broken app answers 500 for ever.",),
    ),
    "lazy-apps": Note(
        sentence="Each worker imports the app itself, after the fork.",
        default="false",
        rules=(
            "Nothing is shared: memory grows with each worker by the whole app.",
            "Cures connections and threads that were opened at import.",
        ),
    ),
    "lazy": Note(
        sentence="An old form of lazy-apps that changes how reloads work too.",
        rules=("Use `lazy-apps`.",),
    ),
    "optimize": Note(
        sentence="Python's -O: 1 drops asserts, 2 docstrings too.",
        default="0",
        rules=("An app that relies on either behaves differently.",),
        advice=Advice.NEVER,
    ),
    "wsgi-env-behaviour": Note(
        sentence="Whether each request gets a new environ.",
        default="cheat",
        rules=("`cheat` or `holy`; any other stops uWSGI.",),
    ),
    "wsgi-accept-buffer": Note(sentence="The app may answer with any bytes-like object."),
    "wsgi-disable-file-wrapper": Note(sentence="The app gets no wsgi.file_wrapper."),
    "wsgi-strict": Note(sentence="No shortcuts that PEP 3333 forbids."),
    "start_response-nodelay": Note(sentence="Sends headers at once, before the first byte."),
    "py-call-osafterfork": Note(
        sentence="Tells Python of each fork, so that it sees signals.",
    ),
    "py-call-uwsgi-fork-hooks": Note(
        sentence="Tells Python before and after each fork; cures hangs of threads at a fork.",
        since="2.0.21",
    ),
    "py-executable": Note(sentence="What sys.executable says.", since="2.0.20"),
    "py-auto-reload": Note(
        sentence="Seconds between looks at all modules' files; changed ones reload the app.",
        default="0",
        rules=("For development: a thread in each worker looks at every file.",),
    ),
    "py-tracebacker": Note(sentence="A socket for each worker that tells what it is doing."),
    "catch-exceptions": Note(
        sentence="Shows the app's exceptions to clients.",
        rules=("Never in production.",),
    ),
    "reload-os-env": Note(sentence="Reads the environment anew at every request."),
    "no-site": Note(sentence="Does not import site."),
}
