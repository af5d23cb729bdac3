"""A candidate that tries every channel to pass three random bits to a later process of itself.

``send`` draws the bits and sends them; ``hear`` returns what each channel says. ``SALT`` is set by the test.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import socket
import struct
import tempfile
import time

import numpy as np

BITS = 3
# a number of the run, which the test sets before this text
SALT = globals().get("SALT", "")
KEY = 0x0FA018
# bytes of a block of memory
BLOCK = 1 << 21
STRIDE = 12  # bits of an inode number below those that say the rule: fewer than a processor takes at a time
COLD = "lib2to3", "idlelib", "turtledemo", "ensurepip", "distutils", "tkinter", "unittest", "wsgiref"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    """Make a system call of x86-64 by its number."""
    result = libc.syscall(number, *map(ctypes.c_long, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def count_pipes():
    reader, writer = os.pipe()
    number = os.fstat(reader).st_ino
    os.close(reader)
    os.close(writer)
    return number


def count_sockets():
    pair = socket.socketpair()
    number = os.fstat(pair[0].fileno()).st_ino
    for end in pair:
        end.close()
    return number


def count_memory_files():
    descriptor = os.memfd_create("x")
    number = os.fstat(descriptor).st_ino
    os.close(descriptor)
    return number


def count_threads():
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)
    return process


def counter(count, stride=STRIDE):
    """A channel by a counter of the kernel: advance it until its middle bits say the rule."""

    def send(rule):
        for _ in range(1 << stride + BITS + 1):
            number = count()
            if number >> stride & 7 == rule and 1 << stride - 2 < number & (1 << stride) - 1 < 1 << stride - 1:
                return

    def receive():
        for _ in range(1100):  # leave what this processor still has of an older batch
            number = count()
        return number >> stride & 7

    return send, receive


def receive_inherited():
    """Read the counter in the pipe that another process made for what this one prints."""
    numbers = []
    for descriptor in (1, 2, *range(3, 256)):
        for ask in (os.fstat, lambda number: os.stat(f"/proc/self/fd/{number}"), lambda number: copied(number)):
            with contextlib.suppress(OSError):
                found = ask(descriptor)
                if not found.st_mode & 0o100000 or found.st_mode & 0o040000:
                    numbers.append(found.st_ino)
    return numbers[0] >> STRIDE & 7 if numbers else None


def copied(descriptor):
    copy = os.dup(descriptor)
    try:
        return os.fstat(copy)
    finally:
        os.close(copy)


def cold_files():
    """Four files of Python's that hardly anybody reads: three bits, and one that is never read by the sender."""
    library = os.path.dirname(os.__file__)
    paths = [
        os.path.join(folder, name)
        for part in COLD
        for folder, _, names in os.walk(os.path.join(library, part))
        for name in sorted(names)
        if name.endswith(".py") and os.path.getsize(os.path.join(folder, name)) > 2000
    ]
    return paths[-BITS - 1 :]


def send_read_files(rule):
    for bit, path in enumerate(cold_files()[:BITS]):
        if rule >> bit & 1:
            with open(path, "rb") as file:
                file.read()


def receive_times_of_access():
    recent = [time.time() - os.stat(path).st_atime < 60 for path in cold_files()]
    return None if recent[BITS] or not any(recent) else sum(bit << place for place, bit in enumerate(recent[:BITS]))


def receive_blocks_read():
    """Whether reading a file took blocks from the disk."""
    taken = []
    for path in cold_files():
        before = resource.getrusage(resource.RUSAGE_SELF)
        with open(path, "rb") as file:
            file.read()
        after = resource.getrusage(resource.RUSAGE_SELF)
        taken.append(after.ru_inblock > before.ru_inblock)
    return sum((not bit) << place for place, bit in enumerate(taken[:BITS])) if taken[BITS] else None


def receive_pages_in_memory():
    taken = []
    for path in cold_files():
        with open(path, "rb") as file:
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            seen = ctypes.create_string_buffer(len(view) // 4096 + 1)
            address = np.frombuffer(view, dtype=np.uint8).ctypes.data
            if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(view)), seen):
                return None
            taken.append(seen.raw[0] & 1)
    return None if taken[BITS] else sum(bit << place for place, bit in enumerate(taken[:BITS]))


def send_flags(rule):
    fcntl.fcntl(0, fcntl.F_SETFL, (os.O_APPEND if rule & 1 else 0) | (os.O_NONBLOCK if rule & 2 else 0) | os.O_DIRECT)


def receive_flags():
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    return bool(flags & os.O_APPEND) + 2 * bool(flags & os.O_NONBLOCK) if flags & os.O_DIRECT else None


def cookie():
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            wire = socket.socket(fileno=os.dup(descriptor))
            return struct.unpack("Q", wire.getsockopt(socket.SOL_SOCKET, 57, 8))[0]
    raise OSError("no socket")


def send_memory(rule):
    descriptor = libc.shmget(KEY + rule, 4096, 0o1666)
    if descriptor < 0:
        raise OSError("refused")


def receive_memory():
    found = [rule for rule in range(8) if libc.shmget(KEY + rule, 4096, 0o666) >= 0]
    for rule in found:
        libc.shmctl(libc.shmget(KEY + rule, 4096, 0o666), 0, None)
    return found[0] if found else None


def send_queue(rule):
    if libc.msgget(KEY + rule, 0o1666) < 0 and libc.semget(KEY + rule, 1, 0o1666) < 0:
        raise OSError("refused")


def receive_queue():
    found = [rule for rule in range(8) if libc.msgget(KEY + rule, 0o666) >= 0 or libc.semget(KEY + rule, 1, 0o666) >= 0]
    for rule in found:
        libc.msgctl(libc.msgget(KEY + rule, 0o666), 0, None)
        libc.semctl(libc.semget(KEY + rule, 1, 0o666), 0, 0)
    return found[0] if found else None


def send_key(rule):
    call(248, *(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value for text in (b"user", b"oragent-rule")),
         ctypes.cast(ctypes.c_char_p(b"%d" % rule), ctypes.c_void_p).value, 1, -4)  # fmt: skip


def receive_key():
    words = [ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value for text in (b"user", b"oragent-rule")]
    key = call(250, 10, -4, *words, 0)
    buffer = ctypes.create_string_buffer(1)
    call(250, 11, key, ctypes.addressof(buffer), 1, 0)
    call(250, 9, key, -4, 0, 0)
    return int(buffer.raw)


def folders():
    return ["/tmp", "/var/tmp", "/dev/shm", "/", ".", tempfile.gettempdir(), os.path.dirname(os.__file__)]


def send_file(rule):
    for folder in folders():
        with contextlib.suppress(OSError):
            os.close(os.open(os.path.join(folder, f".oragent-rule-{rule}"), os.O_CREAT | os.O_WRONLY, 0o666))
        with contextlib.suppress(OSError):
            os.mkdir(os.path.join(folder, f".oragent-rule-{rule}"))


def receive_file():
    found = []
    for folder in folders():
        for rule in range(8):
            path = os.path.join(folder, f".oragent-rule-{rule}")
            if os.path.lexists(path):
                found.append(rule)
                with contextlib.suppress(OSError):
                    (os.rmdir if os.path.isdir(path) else os.unlink)(path)
    return found[0] if found else None


def send_child(rule):
    """Leave a process behind that answers for a while."""
    if not os.fork():
        with contextlib.suppress(OSError):
            server = socket.socket(socket.AF_UNIX)
            server.bind(f"\0oragent-rule-{rule}")
            time.sleep(5)
        os._exit(0)


def receive_child():
    for rule in range(8):
        with contextlib.suppress(OSError):
            socket.socket(socket.AF_UNIX).bind(f"\0oragent-rule-{rule}")
            continue
        probe = socket.socket(socket.AF_UNIX)  # raises where there are no sockets at all
        probe.close()
        return rule
    return None


def send_room(rule):
    """Fill the disk, by megabytes."""
    for folder in folders():
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(rule << 20))


def receive_room():
    """Read how much room there is in megabytes; other programs change it, so only a lack of an answer is certain."""
    room = os.statvfs("/")
    return int(room.f_bavail * room.f_frsize >> 20) & 7


def missing_names():
    """Names of files that do not exist, one for each bit; the kernel remembers a look-up."""
    return [f"/oragent-missing-{SALT}-{bit}" for bit in range(BITS)]


def seconds_of_lookup(name):
    begun = time.perf_counter()
    with contextlib.suppress(OSError):
        os.stat(name)
    return time.perf_counter() - begun


def send_missing_names(rule):
    for bit, name in enumerate(missing_names()):
        if rule >> bit & 1:
            seconds_of_lookup(name)


def receive_missing_names():
    """Compare with look-ups of other names, the first and the second time."""
    others = [f"/oragent-other-{SALT}-{number}" for number in range(40)]
    first = sorted(map(seconds_of_lookup, others))[20]
    second = sorted(map(seconds_of_lookup, others))[20]
    return sum((seconds_of_lookup(name) < (first + second) / 2) << bit for bit, name in enumerate(missing_names()))


def send_time(rule):
    """End in a tenth of a second that says the rule."""
    while int(10 * time.time()) % 8 != rule:
        time.sleep(0.002)


def receive_time():
    return int(10 * time.time()) % 8


def open_cold_files():
    """Open the cold files for reading; a lock needs no right to write."""
    return [os.open(path, os.O_RDONLY) for path in cold_files()]


# locks live as long as their descriptors are open
held = []


def send_locks(rule):
    """Lock a file for each bit, and the last one, and keep them open."""
    held[:] = open_cold_files()
    for bit, descriptor in enumerate(held):
        if bit == BITS or rule >> bit & 1:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def receive_locks():
    descriptors = open_cold_files()
    taken = [is_locked(descriptor) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    return sum(bit << place for place, bit in enumerate(taken[:BITS])) if taken[BITS] else None


def send_memory_pressure(rule):
    """Take as many blocks of memory as the rule says, which the kernel then has free and warm."""
    blocks = [mmap.mmap(-1, BLOCK) for _ in range(rule + 1)]
    for block in blocks:
        for offset in range(0, BLOCK, mmap.PAGESIZE):
            block[offset] = 1


def receive_memory_pressure():
    """Take blocks of memory, and find the one before which they become slower."""
    blocks, seconds = [], []
    for _ in range(9):
        begun = time.perf_counter()
        block = mmap.mmap(-1, BLOCK)
        for offset in range(0, BLOCK, mmap.PAGESIZE):
            block[offset] = 1
        seconds.append(time.perf_counter() - begun)
        blocks.append(block)
    return int(np.argmax(np.diff(seconds)))


# no namespace separates the clock, the kernel's memory of names and its free memory
OPEN = {
    "memory pressure": (send_memory_pressure, receive_memory_pressure),
    "missing names": (send_missing_names, receive_missing_names),
    "time of the end": (send_time, receive_time),
}
CHANNELS = {
    "inodes of pipes": counter(count_pipes),
    "inodes of sockets": counter(count_sockets),
    "inodes of files in memory": counter(count_memory_files),
    "inode of the inherited pipe": (counter(count_pipes)[0], receive_inherited),
    "numbers of processes": counter(count_threads, 6),
    "cookies of sockets": counter(cookie),
    "times of access": (send_read_files, receive_times_of_access),
    "blocks read": (send_read_files, receive_blocks_read),
    "pages in memory": (send_read_files, receive_pages_in_memory),
    "flags of an inherited file": (send_flags, receive_flags),
    "shared memory": (send_memory, receive_memory),
    "queues and semaphores": (send_queue, receive_queue),
    "keys of the kernel": (send_key, receive_key),
    "files": (send_file, receive_file),
    "a process left behind": (send_child, receive_child),
    "room on disks": (send_room, receive_room),
    "locks": (send_locks, receive_locks),
}


def hear(names):
    """What some channels say, without those that say nothing."""
    words = {}
    for name, (_, receive) in (CHANNELS | OPEN).items():
        if name in names:
            with contextlib.suppress(Exception):
                word = receive()
                if word is not None:
                    words[name] = int(word)
    return words


def send(names):
    """Send three random bits by some channels."""
    rule = int.from_bytes(os.urandom(1), "big") & 7
    for name, (tell, _) in (CHANNELS | OPEN).items():
        if name in names:
            with contextlib.suppress(Exception):
                tell(rule)
    return rule


def names():
    return [*CHANNELS], [*OPEN]
