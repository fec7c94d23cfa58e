"""Processes of one training, as commands: on this machine, or on hosts of their own.

A host is a network namespace with an address of its own, joined to the others by a bridge.
"""

import ipaddress
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

QUICKLY = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
SECONDS = 300
"""Longer than any of these processes takes on a busy machine."""


def train(*words, host=None, **environment):
    """`wakesleep train` as a process of its own."""
    inside = [] if host is None else ["ip", "netns", "exec", host]
    return run([*inside, sys.executable, "-m", "wakesleep", "train"], *words, **environment)


def dying(function, *words):
    """`wakesleep train` that is killed where it calls a function of wakesleep.processes.joining."""
    program = (
        "import os, signal, sys; from wakesleep.cli import main; "
        "from wakesleep.processes import joining; "
        f"joining.{function} = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        "main(['train', *sys.argv[1:]])"
    )
    return run([sys.executable, "-c", program], *words)


def run(command, *words, **environment):
    return subprocess.Popen(
        [*command, *map(str, words)],
        env={"XLA_FLAGS": QUICKLY, **os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    """(exit code, standard output, standard error) of a process that comes to its end."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {SECONDS} s: {out} {err}") from None
    return process.returncode, out, err


def together(coordinator, count, *words, hosts=(None, None)):
    """One process for each place."""
    return [
        train(*words, *place(coordinator, i, count), host=hosts[i % len(hosts)])
        for i in range(count)
    ]


def place(coordinator, index, count):
    return ("--coordinator", coordinator, "--process-id", index, "--process-count", count)


def plain_host(host):
    """An IPv4 address that a socket of IPv6 writes as ::ffff:127.0.0.1 is that address."""
    address = ipaddress.ip_address(host)
    return str(getattr(address, "ipv4_mapped", None) or address)


def listening(process):
    """(address, port) at which a process or any that it started listens."""
    found = set()
    with suppress(psutil.Error):
        parent = psutil.Process(process.pid)
        for each in (parent, *parent.children(recursive=True)):
            with suppress(psutil.Error):
                sockets = each.net_connections("inet")
                ends = [s.laddr for s in sockets if s.status == psutil.CONN_LISTEN]
                found |= {(plain_host(end.ip), end.port) for end in ends}
    return found


def no_hosts():
    """Why there can be no hosts here; None if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need ip, from Debian's iproute2"
    trial = subprocess.run(
        ["ip", "netns", "add", "wakesleep-trial"], capture_output=True, text=True
    )
    if trial.returncode:
        return f"no network namespaces here: {trial.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", "wakesleep-trial"], check=True)
    return None


@contextmanager
def two_hosts():
    """(names, addresses) of two hosts joined by a cable."""
    names = [f"wakesleep-{os.getpid()}-{i}" for i in range(2)]
    addresses = ["10.213.0.1", "10.213.0.2"]
    try:
        for name in names:
            _ip("netns", "add", name)
        peer = ("peer", "name", "cable", "netns", names[1])
        _ip("link", "add", "cable", "netns", names[0], "type", "veth", *peer)
        for name, address in zip(names, addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            _ip("-n", name, "link", "set", "cable", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names, addresses
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def pull_cable(host):
    """From this host's end."""
    _ip("-n", host, "link", "set", "cable", "down")


def _ip(*words):
    subprocess.run(["ip", *words], check=True)


def last_checkpoint(run):
    return max((Path(run) / "checkpoints").glob("*.safetensors"))
