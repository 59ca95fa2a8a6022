"""Which options do more than serve the app: programs, files, others on the network, rights, code.

A benchmark goes without them unless its owner says otherwise, so this is about what a trial would
do to others or to itself, not about good taste. Not in it: what the app is made of (`module`,
`import`, `mule`, `spooler`, `env`), the fronts that clients use, logs, `stats` (a trial brings its
own) and `uid` and `gid`, which only give rights up.
"""

from functools import cache

from tuner.model import Danger

NAMES = {
    Danger.COMMANDS: (
        "attach-daemon attach-daemon2 attach-control-daemon smart-attach-daemon"
        " smart-attach-daemon2 legion-attach-daemon legion-smart-attach-daemon"
        " legion-smart-attach-daemon2 cron cron2 unique-cron legion-cron"
        " unique-legion-cron touch-exec worker-exec worker-exec2"
        " emperor emperor-wrapper emperor-wrapper-override emperor-wrapper-fallback"
        " emperor-on-demand-exec vassals-start-hook vassals-stop-hook fallback-config"
        " privileged-binary-patch privileged-binary-patch-arg unprivileged-binary-patch"
        " unprivileged-binary-patch-arg legion-lord legion-unlord legion-setup legion-death"
        " legion-join legion-node-joined legion-node-left build-plugin pty-exec"
        " forkptyrouter-command cgi"
    ),
    Danger.FILES: (
        "pidfile pidfile2 safe-pidfile safe-pidfile2 emperor-pidfile file-write master-fifo"
        " daemonize daemonize2 cache-store queue-store metrics-dir rrdtool upload-progress"
        " flock flock2 flock-wait flock-wait2"
    ),
    Danger.NETWORK: (
        "shared-socket undeferred-shared-socket subscribe-to subscribe2"
        " http-to http-fallback http-zerg http-resubscribe http-subscription-server"
        " fastrouter rawrouter sslrouter sslrouter2 forkptyrouter forkptyurouter zerg"
        " zerg-server zergpool carbon stats-push snmp udp multicast cache-udp-server"
        " cache-udp-node cache-sync log-socket log-syslog log-zeromq notify-socket"
        " subscription-notify-socket emperor-proxy-socket emperor-stats setns-socket"
        " alarm alarm-fd alarm-segfault alarm-backlog log-alarm not-log-alarm"
        " exception-handler py-tracebacker curl-cron legion-curl-cron zeromq ldap"
        " glusterfs-mount gridfs-mount rados-mount pty-socket pty-connect pty-uconnect"
        " legion legion-mcast legion-node"
    ),
    Danger.PRIVILEGES: (
        "chroot pivot-root cap emperor-cap unshare unshare2 setns namespace namespace-net"
        " namespace-keep-mount cgroup cgroup-opt emperor-use-clone tuntap-router tuntap-device"
    ),
    Danger.CODE: "plugins need-plugins autoload dlopen cgi-loadlib",
}
_BEGINNINGS = {
    "exec-": Danger.COMMANDS,
    "hook-": Danger.COMMANDS,
    "mount-": Danger.PRIVILEGES,  # of a filesystem; `mount` itself is an app at a path
    "umount-": Danger.PRIVILEGES,
}
_HEADS = tuple(_BEGINNINGS)


@cache
def _by_name() -> dict[str, Danger]:
    return {name: danger for danger, names in NAMES.items() for name in names.split()}


def danger_of(name: str) -> Danger | None:
    """What the option of that canonical name may do besides serving the app; None for nothing."""
    found = _by_name().get(name)
    if found is not None or not name.startswith(_HEADS):
        return found
    return next(danger for head, danger in _BEGINNINGS.items() if name.startswith(head))
