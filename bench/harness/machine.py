"""What the operating system says: memory and time of a server's processes, and how quiet it is here."""

import os
import pathlib
import platform
import socket

TICKS = os.sysconf("SC_CLK_TCK")


def process_tree(pid):
    """The process and its descendants that are alive."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = read_stat(int(entry.name))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    tree, todo = [], [pid]
    while todo:
        one = todo.pop()
        tree.append(one)
        todo.extend(children.get(one, ()))
    return tree


def read_stat(pid):
    """The fields of /proc/PID/stat after the command's name, or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def memory_bytes(pid):
    """Resident memory of the tree, pages shared among its processes counted once."""
    total = 0
    for one in process_tree(pid):
        try:
            for line in pathlib.Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


def cpu_seconds(pid):
    """Time used so far by the tree, ended children included."""
    total = 0
    for one in process_tree(pid):
        fields = read_stat(one)
        if fields:
            total += sum(int(fields[i]) for i in (11, 12, 13, 14))
    return total / TICKS


def all_cpu_seconds():
    """Busy time and stolen time of the whole machine since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    user, nice, system, _idle, _wait, irq, soft, steal = fields
    return (user + nice + system + irq + soft) / TICKS, steal / TICKS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def describe():
    """One line on the machine, without anything that names it."""
    model = ""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{os.cpu_count()} cores ({model or platform.machine()}), {memory:.0f} GB of memory, "
            f"Linux {platform.release().split('-')[0]}")


def filesystem(path):
    """The type of the filesystem that holds the path."""
    best = ("", "unknown")
    real = os.path.realpath(path)
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        for line in file:
            _, mount, kind = line.split()[:3]
            inside = real == mount or real.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best[0]):
                best = (mount, kind)
    return best[1]
