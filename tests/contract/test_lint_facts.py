"""What the rules on meaning say of uWSGI, seen on the real 2.0.31 in one container."""

import re

import pytest

from tests.contract.uwsgi_lab import Lab
from tuner.uwsgi.lint import RULES
from tuner.uwsgi.options import later_release

pytestmark = [pytest.mark.full, pytest.mark.docker]

APP = "wsgi-file = app.py\nmaster = true\n"
HTTP = f"[uwsgi]\nhttp-socket = :8000\n{APP}"
STATUS = "seen = get(timeout=3)[0]"
SLOW_APP = """
import time

def application(environ, start_response):
    if environ["PATH_INFO"].startswith("/slow"):
        time.sleep(float(environ["PATH_INFO"][5:]))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
NO_LENGTH_APP = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
"""
TELLING_APP = """
import os

def application(environ, start_response):
    start_response("200 OK", [])
    said = environ["SCRIPT_NAME"], environ["PATH_INFO"], os.getuid(), os.getgid(), os.getgroups()
    return [repr(said).encode()]
"""


DOES_NOT_START = {
    "U022": (
        "strict = true\nthunder-lock-watchdog = true",
        "[strict-mode] unknown config directive: thunder-lock-watchdog",
    ),
    "U047": (
        "strict = true\nbase = /tmp\nchdir = %(base)",
        "[strict-mode] unknown config directive: base",
    ),
    "U148": ("chdir = ~/app", "chdir(): No such file or directory"),
    "U050": ("listen = 100000", "Listen queue size is greater than the system max"),
    "U051": ("stats = 127.0.0.1:8000", "bind(): Address already in use"),
    "U057": ("chmod-socket = 0660", "invalid chmod value: 0660"),
    "U080": ("processes = 2\ncheaper = 2", "invalid cheaper value: must be lower than processes"),
    "U085": (
        "processes = 2\ncheaper = 1\ncheaper-rss-limit-soft = 1000000",
        "requires enabling also memory-report",
    ),
    "U094": ("lock-engine = foo", 'unable to find lock engine "foo"'),
    "U106": ("max-worker-lifetime = 10", "invalid min-worker-lifetime value (10)"),
    "U125": ("static-map = /static", "invalid document root in static map"),
    "U137": ("wsgi-env-behaviour = fast", "invalid wsgi-env-behaviour value: fast"),
}


@pytest.mark.parametrize("rule_id", DOES_NOT_START)
def test_uwsgi_ends_with_1_where_a_rule_says_that_it_does_not_start(
    uwsgi: Lab, rule_id: str
) -> None:
    lines, message = DOES_NOT_START[rule_id]
    seen = uwsgi.play(f"{HTTP}{lines}\n", ready="never")
    assert seen.exit == 1
    assert message in seen.log
    assert rule_id in {rule.id for rule in RULES}


def test_a_shared_socket_alone_does_not_start(uwsgi: Lab) -> None:
    seen = uwsgi.play(f"[uwsgi]\nshared-socket = :8000\n{APP}", ready="never")
    assert (seen.exit, "-s/--socket option is missing" in seen.log) == (1, True)


SLEEPS = {"app.py": SLOW_APP}
STOPPED = """
import threading
answer = []
asking = threading.Thread(target=lambda: answer.append(get("/slow2", timeout=20)))
asking.start()
time.sleep(0.5)
process.send_signal(signal.SIGTERM)
asking.join()
seen = [answer[0][0], process.wait(10)]
"""
GRACEFULLY = "hook-master-start = unix_signal:15 gracefully_kill_them_all\n"


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ("die-on-term = true\n", "RemoteDisconnected"),
        (GRACEFULLY, 200),
        (f"die-on-term = true\n{GRACEFULLY}", 200),
        (f"{GRACEFULLY}harakiri = 1\n", 200),
        (f"{GRACEFULLY}worker-reload-mercy = 1\nprocesses = 2\nthreads = 2\n", 200),
    ],
)
def test_a_stop_cuts_requests_and_a_hook_lets_them_end(
    uwsgi: Lab, lines: str, answer: int | str
) -> None:
    """Of U114 and U119."""
    for socket in ("http-socket", "http"):  # `http`: through the router
        ini = HTTP.replace("http-socket", socket) + lines
        assert uwsgi.play(ini, files=SLEEPS, probe=STOPPED).seen == [answer, 0]


def test_a_worker_goes_on_although_its_client_has_left(uwsgi: Lab) -> None:
    """Of U113: nginx leaves so after its read timeout."""
    probe = "seen = [get('/slow2', timeout=0.5)[0], wait_for('GET /slow2 => generated 2 bytes', 5)]"
    assert uwsgi.play(HTTP, files=SLEEPS, probe=probe).seen == ["TimeoutError", True]


SAYS = {
    "U046": ("processes = $(WORKERS)", "Operational MODE: no-workers"),
    "U075": ("processes = auto", "Operational MODE: no-workers"),
    "U081": (
        "processes = 3\ncheaper = 1\ncheaper-algo = busy",
        "unable to find requested cheaper algorithm, falling back to spare",
    ),
    "U082": ("processes = 4\ncheaper = 2\ncheaper-initial = 9", "using 4 as initial number"),
    "U112": ("harakiri = 30", "you have enabled harakiri without post buffering"),
    "U115": ("async = 4\nthreads = 2", "cores: 2)"),
    "U116": ("async = 4", "async mode without coroutine/greenthread engine loaded"),
    "U118": ("loop = asyncio", "unavailable loop engine"),
    "U127": ("offload-threads = 2", "spawned 2 offload threads for uWSGI worker 1"),
    "U130": ("", "uWSGI is running in multiple interpreter mode"),
    "U131": ("enable-threads = false", "python threads support enabled"),
}


@pytest.mark.parametrize("rule_id", SAYS)
def test_uwsgi_starts_and_says_in_its_log_what_a_rule_quotes(uwsgi: Lab, rule_id: str) -> None:
    lines, message = SAYS[rule_id]
    seen = uwsgi.play(f"{HTTP}{lines}\n", probe=f"seen = wait_for({re.escape(message)!r}, 5)")
    assert message in seen.log
    assert "Starting uWSGI 2.0.31" in seen.log


def test_an_option_of_a_later_release_is_ignored_without_strict_and_refused_in_a_command(
    uwsgi: Lab,
) -> None:
    assert later_release("thunder-lock-watchdog", "2.0.31") == "2.1"
    seen = uwsgi.play(f"{HTTP}thunder-lock-watchdog = true\n", probe=STATUS)
    assert seen.seen == 200
    assert "thunder-lock-watchdog" not in seen.log
    words = ("--ini", "uwsgi.ini", "--thunder-lock-watchdog")
    refused = uwsgi.play(HTTP, args=words, ready="never")
    assert refused.exit == 1
    assert "unrecognized option '--thunder-lock-watchdog'" in refused.log


def test_a_placeholder_that_is_set_as_one_passes_strict_mode(uwsgi: Lab) -> None:
    lines = "strict = true\nset-placeholder = base=/tmp\nchdir = %(base)\n"
    ini = HTTP.replace("app.py", "%d/app.py") + lines
    assert uwsgi.play(ini, probe=STATUS).seen == 200


def test_without_cheaper_all_processes_start_at_once(uwsgi: Lab) -> None:
    ini = f"{HTTP}processes = 6\ncheaper-initial = 2\n"
    every = "seen = wait_for('spawned uWSGI worker 6', 5)"
    assert uwsgi.play(ini, probe=every).seen is True
    few = "time.sleep(1.5); seen = said().count('spawned uWSGI worker')"
    assert uwsgi.play(f"{ini}cheaper = 1\n", probe=few).seen == 2


@pytest.mark.parametrize(("delta", "ends"), [("", 4), ("max-worker-lifetime-delta = 4\n", 1)])
def test_workers_of_one_lifetime_end_together(uwsgi: Lab, delta: str, ends: int) -> None:
    ini = f"{HTTP}processes = 4\nmax-worker-lifetime = 3\nmin-worker-lifetime = 1\n{delta}"
    first = (
        "wait_for('lifetime reached', 9); time.sleep(1); seen = said().count('lifetime reached')"
    )
    assert uwsgi.play(ini, probe=first).seen == ends


FROM_OUTSIDE = {"UWSGI_CHEAPER": "2", "UWSGI_PROCESSES": "16"}


def test_cheaper_of_the_environment_counts_with_the_processes_of_the_file(uwsgi: Lab) -> None:
    ini = f"{HTTP}processes = 1\n"
    seen = uwsgi.play(ini, environ=FROM_OUTSIDE, ready="never")
    assert (seen.exit, "must be lower than processes" in seen.log) == (1, True)
    seen = uwsgi.play(f"{ini}cheaper = 0\n", environ=FROM_OUTSIDE, probe=STATUS)
    assert seen.seen == 200


def test_an_option_without_its_value_takes_the_next_word(uwsgi: Lab) -> None:
    words = ("--http-socket", ":8000", "--wsgi-file", "app.py", "--harakiri", "-p", "4")
    seen = uwsgi.play("", args=words, ready="never")
    assert seen.exit == 1
    assert "unable to load configuration from 4" in seen.log


def test_without_an_app_each_request_gets_500(uwsgi: Lab) -> None:
    seen = uwsgi.play("[uwsgi]\nhttp-socket = :8000\nmaster = true\n", probe=STATUS)
    assert seen.seen == 500
    assert "no python application found" in seen.log


def test_arithmetic_has_the_cpus_of_the_machine(uwsgi: Lab) -> None:
    ini = f"{HTTP}processes = %(%k * 2 + 1)\n"
    seen = uwsgi.play(ini, probe="seen = [os.cpu_count(), said().count('spawned uWSGI worker')]")
    cpus, workers = seen.seen
    assert workers == 2 * cpus + 1


def test_without_workers_a_request_is_never_answered(uwsgi: Lab) -> None:
    assert uwsgi.play(f"{HTTP}processes = auto\n", probe=STATUS).seen == "TimeoutError"


def test_the_router_cannot_talk_to_a_first_socket_that_speaks_http(uwsgi: Lab) -> None:
    router = f"[uwsgi]\nhttp = :8000\n{APP}"
    patient = "seen = get(timeout=20)[0]"  # it takes socket-timeout to fail
    assert uwsgi.play(f"{router}http-socket = :8001\n", probe=patient).seen == "RemoteDisconnected"
    first = "socket = :3031\nhttp-socket = :8001\n"
    assert uwsgi.play(f"{router}{first}", probe=STATUS).seen == 200


def test_the_router_asks_http_to_alone(uwsgi: Lab) -> None:
    ini = f"[uwsgi]\nhttp = :8000\nsocket = 127.0.0.1:3031\nhttp-to = 127.0.0.1:3030\n{APP}"
    seen = uwsgi.play(ini, probe=STATUS)
    assert seen.seen == "RemoteDisconnected"
    assert 'unable to connect() to node "127.0.0.1:3030"' in seen.log


def test_the_router_gives_up_before_harakiri(uwsgi: Lab) -> None:
    ini = f"[uwsgi]\nhttp = :8000\nhttp-timeout = 1\nharakiri = 10\n{APP}"
    probe = "seen = [get('/slow2')[0], wait_for('GET /slow2 => generated 2 bytes', 5)]"
    seen = uwsgi.play(ini, probe=probe, files={"app.py": SLOW_APP})
    assert seen.seen == ["RemoteDisconnected", True]


KEPT = """
s = socket.create_connection(("127.0.0.1", 8000))
s.settimeout(3)
s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
answer = b""
try:
    while piece := s.recv(1000):
        answer += piece
    seen = "closed"
except TimeoutError:
    seen = "open"
"""


def test_http_socket_closes_whatever_http_keepalive_and_a_header_say(uwsgi: Lab) -> None:
    ini = f"{HTTP}http-keepalive = 9\nadd-header = Connection: keep-alive\n"
    assert uwsgi.play(ini, probe=KEPT).seen == "closed"


def test_the_router_keeps_a_connection_only_where_an_answer_has_a_length(uwsgi: Lab) -> None:
    ini = f"[uwsgi]\nhttp = :8000\nhttp-keepalive = 9\n{APP}"
    assert uwsgi.play(ini, probe=KEPT).seen == "open"
    without = {"app.py": NO_LENGTH_APP}
    assert uwsgi.play(ini, probe=KEPT, files=without).seen == "closed"
    chunked = f"{ini}http-auto-chunked = true\n"
    assert uwsgi.play(chunked, probe=KEPT, files=without).seen == "open"


def test_an_http11_socket_lets_the_second_connection_wait(uwsgi: Lab) -> None:
    probe = """
both = [socket.create_connection(("127.0.0.1", 8000)) for _ in range(2)]
for s in both:
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
began, seen = time.monotonic(), []
for s in both:
    s.settimeout(20)
    s.recv(1000)
    seen.append(time.monotonic() - began)
"""
    seen = uwsgi.play(f"[uwsgi]\nhttp11-socket = :8000\n{APP}", probe=probe).seen
    assert seen[0] < 3.5
    assert seen[1] >= 3.5  # socket-timeout is 4 s


def test_a_uwsgi_socket_answers_http_with_nothing(uwsgi: Lab) -> None:
    seen = uwsgi.play(f"[uwsgi]\nsocket = :8000\n{APP}", probe=STATUS)
    assert seen.seen == "RemoteDisconnected"
    assert "invalid request block size: 21573" in seen.log


def test_of_two_sockets_with_one_address_the_first_ones_protocol_is_spoken(uwsgi: Lab) -> None:
    ini = f"[uwsgi]\nsocket = :8000\nhttp-socket = :8000\n{APP}"
    assert uwsgi.play(ini, probe=STATUS).seen == "RemoteDisconnected"


def test_whoever_speaks_uwsgi_names_the_file_that_answers(uwsgi: Lab) -> None:
    probe = """
import struct
asked = {"REQUEST_METHOD": "GET", "PATH_INFO": "/x", "SCRIPT_NAME": "/x", "UWSGI_APPID": "/x",
         "UWSGI_FILE": os.path.abspath("other.py")}
pairs = b"".join(
    struct.pack("<H", len(text)) + text.encode() for pair in asked.items() for text in pair
)
s = socket.create_connection(("127.0.0.1", 3031))
s.settimeout(5)
s.sendall(struct.pack("<BHB", 0, len(pairs), 0) + pairs)
seen = s.makefile("rb").read().decode()
"""
    other = 'def application(e, s):\n    s("200 OK", [])\n    return [b"another"]\n'
    seen = uwsgi.play(f"[uwsgi]\nsocket = :3031\n{APP}", probe=probe, files={"other.py": other})
    assert seen.seen.endswith("another")


def test_headers_above_the_buffer_end_the_connection(uwsgi: Lab) -> None:
    probe = "seen = get(headers={'Cookie': 'a=' + 'x' * 5000})[0]"
    small, large = (
        uwsgi.play(f"{HTTP}{line}", probe=probe) for line in ("", "buffer-size=16384\n")
    )
    assert (small.seen, large.seen) == ("ConnectionResetError", 200)
    assert "invalid HTTP request size (max 4096)...skip" in small.log


def test_a_unix_socket_stays_without_vacuum(uwsgi: Lab) -> None:
    probe = "time.sleep(2); process.send_signal(signal.SIGINT); process.wait(20); "
    probe += "seen = os.path.exists('app.sock')"
    ini = f"[uwsgi]\nsocket = app.sock\n{APP}"
    left = [uwsgi.play(f"{ini}{line}", probe=probe).seen for line in ("", "vacuum = true\n")]
    assert left == [True, False]


def test_stats_show_the_cookies_of_running_requests(uwsgi: Lab) -> None:
    probe = """
import threading
asking = threading.Thread(target=get, args=("/slow3",), kwargs={"headers": {"Cookie": "id=abc"}})
asking.start()
time.sleep(1)
seen = "HTTP_COOKIE=id=abc" in socket.create_connection(("127.0.0.1", 9191)).makefile().read()
asking.join()
"""
    assert uwsgi.play(f"{HTTP}stats = :9191\n", probe=probe, files={"app.py": SLOW_APP}).seen


def test_uid_without_gid_keeps_roots_groups(uwsgi: Lab) -> None:
    probe = "seen = get()[1]"
    # A scene's own folder is root's alone, so the app lies where others may read it.
    files = {"/srv/app.py": TELLING_APP}
    ini = "[uwsgi]\nhttp-socket = :8000\nwsgi-file = /srv/app.py\nmaster = true\nuid = nobody\n"
    assert uwsgi.play(ini, probe=probe, files=files).seen == "('', '/', 65534, 0, [0])"
    with_gid = uwsgi.play(f"{ini}gid = nogroup\n", probe=probe, files=files)
    assert with_gid.seen == "('', '/', 65534, 65534, [65534])"


def test_sigterm_reloads_unless_it_is_told_otherwise(uwsgi: Lab) -> None:
    reloading = uwsgi.play(HTTP, signal="SIGTERM", patience_s=3)
    assert reloading.exit is None
    assert "gracefully (RE)spawned uWSGI master process" in reloading.log
    for line in (
        "die-on-term = true",
        "exit-on-reload = true",
        "hook-master-start = unix_signal:15 gracefully_kill_them_all",
    ):
        assert uwsgi.play(f"{HTTP}{line}\n", signal="SIGTERM").exit == 0
    alone = HTTP.replace("master = true\n", "")
    assert uwsgi.play(alone, signal="SIGTERM").exit == 30


def test_a_worker_that_is_killed_comes_back_only_with_a_master(uwsgi: Lab) -> None:
    probe = """
def workers():
    found = subprocess.run(["cat", f"/proc/{process.pid}/task/{process.pid}/children"],
                           capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in found if alive(int(pid))]
until = time.monotonic() + 15
while len(workers()) < BEFORE and time.monotonic() < until:
    time.sleep(0.1)
first = workers()
os.kill(first[0], signal.SIGKILL)
time.sleep(3)
while len(workers()) < AFTER and time.monotonic() < until:
    time.sleep(0.1)
seen = [len(first), len(workers())]
"""
    ini = f"{HTTP}processes = 3\n"
    kept = probe.replace("BEFORE", "3").replace("AFTER", "3")
    assert uwsgi.play(ini, probe=kept).seen == [3, 3]
    # Without a master the first worker is the process that was started.
    lost = probe.replace("BEFORE", "2").replace("AFTER", "1")
    assert uwsgi.play(ini.replace("master = true\n", ""), probe=lost).seen == [2, 1]


def test_a_broken_app_is_served_as_500_without_need_app(uwsgi: Lab) -> None:
    broken = {"app.py": "import nothing_of_that_name\n"}
    assert uwsgi.play(HTTP, probe=STATUS, files=broken).seen == 500
    assert uwsgi.play(f"{HTTP}need-app = true\n", files=broken, ready="never").exit == 22


def test_a_daemon_leaves_its_first_process(uwsgi: Lab) -> None:
    seen = uwsgi.play(f"{HTTP}daemonize = daemon.log\n", ready="never")
    assert seen.exit == 0


def test_threads_alone_reach_a_bound_of_address_space(uwsgi: Lab) -> None:
    ini = f"{HTTP}threads = 8\nreload-on-as = 300\nmin-worker-lifetime = 1\n"
    probe = "time.sleep(2); get(); seen = wait_for('Respawned uWSGI worker 1', 10)"
    assert uwsgi.play(ini, probe=probe).seen is True
    on_rss = uwsgi.play(
        ini.replace("reload-on-as", "reload-on-rss"),
        probe="time.sleep(2); get(); seen = wait_for('Respawned uWSGI worker 1', 3)",
    )
    assert on_rss.seen is False


def test_harakiri_does_not_see_a_slow_request_among_threads(uwsgi: Lab) -> None:
    probe = """
import threading
answers = []
asking = threading.Thread(target=lambda: answers.append(get("/slow5", timeout=15)[0]))
asking.start()
while asking.is_alive():
    get("/")
    time.sleep(0.2)
seen = answers[0]
"""
    slow = {"app.py": SLOW_APP}
    threads = uwsgi.play(f"{HTTP}threads = 2\nharakiri = 1\n", probe=probe, files=slow)
    assert threads.seen == 200
    assert "HARAKIRI" not in threads.log
    alone = "seen = get('/slow5', timeout=15)[0]"
    single = uwsgi.play(f"{HTTP}harakiri = 1\n", probe=alone, files=slow)
    assert single.seen == "RemoteDisconnected"
    assert "HARAKIRI ON WORKER 1" in single.log


def test_one_slow_download_keeps_a_worker_unless_it_is_offloaded(uwsgi: Lab) -> None:
    probe = """
reader = socket.socket()
reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
reader.connect(("127.0.0.1", 8000))
reader.sendall(b"GET /s/large HTTP/1.0\\r\\n\\r\\n")
reader.recv(10)
seen = get(timeout=2)[0]
"""
    ini = f"{HTTP}static-map = /s=.\n"
    files = {"large": "x" * 30_000_000}
    assert uwsgi.play(ini, probe=probe, files=files).seen == "TimeoutError"
    offloaded = uwsgi.play(f"{ini}offload-threads = 1\n", probe=probe, files=files)
    assert offloaded.seen == 200


@pytest.mark.parametrize("line", ["static-map = /=.", "check-static = ."])
def test_an_apps_own_folder_is_public_with_its_source(uwsgi: Lab, line: str) -> None:
    seen = uwsgi.play(f"{HTTP}{line}\n", probe="seen = get('/app.py')[1]").seen
    assert "def application" in seen


def test_an_exception_is_shown_to_clients_with_catch_exceptions(uwsgi: Lab) -> None:
    broken = {"app.py": 'def application(e, s):\n    raise ValueError("hunter2")\n'}
    ini, probe = f"{HTTP}catch-exceptions = true\n", "seen = get()[1]"
    assert "hunter2" in uwsgi.play(ini, probe=probe, files=broken).seen
    assert "hunter2" not in uwsgi.play(HTTP, probe=probe, files=broken).seen


def test_a_module_is_served_in_place_of_a_file(uwsgi: Lab) -> None:
    other = 'def application(e, s):\n    s("200 OK", [])\n    return [b"another"]\n'
    ini = f"{HTTP}module = other\n"
    seen = uwsgi.play(ini, probe="seen = get()[1]", files={"other.py": other})
    assert seen.seen == "another"
    assert "already configured. skip." in seen.log


def test_a_mounted_app_is_given_its_own_paths_only_with_manage_script_name(uwsgi: Lab) -> None:
    ini = "[uwsgi]\nhttp-socket = :8000\nmaster = true\nmount = /shop=app.py\n"
    probe, files = "seen = get('/shop/x')[1]", {"app.py": TELLING_APP}
    assert uwsgi.play(ini, probe=probe, files=files).seen.startswith("('', '/shop/x'")
    managed = uwsgi.play(f"{ini}manage-script-name = true\n", probe=probe, files=files)
    assert managed.seen.startswith("('/shop', '/x'")


def test_asserts_are_not_run_when_optimized(uwsgi: Lab) -> None:
    app = 'def application(e, s):\n    assert False\n    s("200 OK", [])\n    return []\n'
    files = {"app.py": app}
    assert uwsgi.play(f"{HTTP}optimize = 2\n", probe=STATUS, files=files).seen == 200
    assert uwsgi.play(HTTP, probe=STATUS, files=files).seen != 200


def test_the_command_wins_behind_the_file_and_loses_before_it(uwsgi: Lab) -> None:
    ini = f"{HTTP}processes = 2\n"
    probe = "wait_for('spawned uWSGI worker 2', 5); time.sleep(1)"

    def workers(*args: str) -> int:
        return uwsgi.play(ini, args=args, probe=probe).log.count("spawned uWSGI worker")

    assert workers("--ini", "uwsgi.ini", "--processes", "4") == 4
    assert workers("--ini", "uwsgi.ini", "--process", "4") == 4
    assert workers("--ini", "uwsgi.ini", "-p", "4") == 4
    assert workers("--processes", "4", "--ini", "uwsgi.ini") == 2
    assert workers("uwsgi.ini", "--processes", "4") == 2


def test_the_environment_sets_what_the_file_does_not(uwsgi: Lab) -> None:
    environ = {"UWSGI_PROCESSES": "2", "UWSGI_THREADS": "3"}
    assert "MODE: preforking+threaded" in uwsgi.play(HTTP, environ=environ).log
    own = f"{HTTP}processes = 1\nthreads = 1\n"
    assert "MODE: single process" in uwsgi.play(own, environ=environ).log
    one_more = {"UWSGI_HTTP_SOCKET": ":8001"}
    probe = "seen = [get(port=port)[0] for port in (8000, 8001)]"
    assert uwsgi.play(HTTP, environ=one_more, probe=probe).seen == [200, 200]


def test_so_send_timeout_takes_its_value_in_a_file_alone(uwsgi: Lab) -> None:
    args = ("--ini", "uwsgi.ini", "--so-send-timeout", "5")
    on_command = uwsgi.play(HTTP, args=args, ready="never")
    assert on_command.exit == 1
    assert "unable to load configuration from 5" in on_command.log
    assert uwsgi.play(f"{HTTP}so-send-timeout = 5\n", probe=STATUS).seen == 200


def test_a_changed_module_reloads_with_autoreload(uwsgi: Lab) -> None:
    probe = "time.sleep(2); open('app.py', 'a').write('#'); "
    probe += "seen = wait_for('has been modified', 15)"
    assert uwsgi.play(f"{HTTP}py-autoreload = 1\n", probe=probe).seen is True


def test_logto_leaves_standard_error_alone(uwsgi: Lab) -> None:
    seen = uwsgi.play(f"{HTTP}logto = own.log\n", ready="never", seconds=3, probe=STATUS)
    assert seen.seen == 200
    assert "spawned" not in seen.log


def test_failed_requests_are_logged_with_log_5xx_though_logging_is_disabled(uwsgi: Lab) -> None:
    app = 'def application(e, s):\n    s("500 No", [])\n    return []\n'
    ini, files = f"{HTTP}disable-logging = true\n", {"app.py": app}
    assert "GET /" not in uwsgi.play(ini, probe=STATUS, files=files).log
    assert "GET /" in uwsgi.play(f"{ini}log-5xx = true\n", probe=STATUS, files=files).log


def test_processes_of_k_are_the_machines_cpus(uwsgi: Lab) -> None:
    probe = "time.sleep(2); seen = os.cpu_count()"
    seen = uwsgi.play(f"{HTTP}processes = %k\n", probe=probe)
    assert seen.log.count("spawned uWSGI worker") == seen.seen


def test_a_blank_before_the_second_equals_sign_is_in_the_name_of_the_variable(uwsgi: Lab) -> None:
    app = "import os\nprint(sorted(item for item in os.environ.items() if 'NAME' in item[0]))"
    for setting, seen in (("NAME = value", "('NAME ', ' value')"), ("NAME=value", "('NAME', ")):
        assert seen in uwsgi.play(f"{HTTP}env = {setting}\n", files={"app.py": app}).log
