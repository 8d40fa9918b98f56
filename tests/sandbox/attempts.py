"""Attempts of a stranger's code to get out of its box, as bodies of a function of n.

Each prints ESCAPED when it did what it must not, or what it found of a secret; refused, it raises or prints nothing.
`OPEN` says which of them do get out without isolation, so that a test sees that they are attempts at all. Words
in capital letters with a $ are put in by the test.
"""

PRELUDE = """
import ctypes, errno, gc, glob, mmap, os, resource, signal, socket, stat, struct, sys, threading, time
import numpy as np, collsim as cs
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
def call(numbers, *arguments):
    whole = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]  # an int alone is half a register
    found = libc.syscall(numbers[ARM] if isinstance(numbers, tuple) else numbers, *whole)
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return found
def escaped(what=""):
    print("ESCAPED", what)
def f(n):
"""

#: name: code. Those of OPEN must print ESCAPED (or the secret) without isolation.
OPEN: dict[str, str] = {
    # ---- reading
    "reads a file": "print(open('$FOLDER/secret').read())",
    "reads a file by descriptor": "print(os.read(os.open('$FOLDER/secret', os.O_RDONLY), 100))",
    "reads a file with numpy": "print(np.fromfile('$FOLDER/secret', np.uint8).tobytes())",
    "reads a file by memmap": "print(bytes(np.memmap('$FOLDER/secret', np.uint8, 'r')))",
    "reads a file with libc": """
        libc.fopen.restype = ctypes.c_void_p
        file = libc.fopen(b'$FOLDER/secret', b'r'); text = ctypes.create_string_buffer(100)
        libc.fgets(text, 100, ctypes.c_void_p(file)) if file else 1/0; print(text.value)""",
    "reads through openat": "print(os.read(os.open('secret', os.O_RDONLY, dir_fd=os.open('$FOLDER', os.O_PATH)), 99))",
    "reads through openat2": """
        fd = call(437, -100, b'$FOLDER/secret', struct.pack('QQQ', 0, 0, 0), 24); print(os.read(fd, 99))""",
    "reads through a path of parents": "print(open('/usr/lib/../../$FOLDER/secret').read())",
    "reads through proc root": "print(open('/proc/self/root/$FOLDER/secret').read())",
    "lists a folder": "'secret' in os.listdir('$FOLDER') and escaped()",
    "reads with a codec": "import codecs; print(codecs.open('$FOLDER/secret', encoding='utf-8').read())",
    "reads with linecache": "import linecache; print(linecache.getlines('$FOLDER/secret'))",
    "reads with a format attribute walk": """
        walk = '{0.__globals__[os]}'.format(f); assert 'module' in walk
        print(f.__globals__['os'].popen('cat $FOLDER/secret').read())""",
    "reads with the subclasses of object": """
        loader = next(c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileLoader')
        print(loader('x', '$FOLDER/secret').get_data('$FOLDER/secret'))""",
    "reads with a pickle in an array": """
        import pickle
        class Bomb:
            def __reduce__(self): return eval, ("open('$FOLDER/secret').read()",)
        print(pickle.loads(np.array([Bomb()], object).dumps())[0])""",
    "reads with a frame of its caller": "print(sys._getframe(1).f_builtins['open']('$FOLDER/secret').read())",
    "reads with what gc knows": """
        import io
        opens = [o for o in gc.get_referrers(io.open) if isinstance(o, dict) and o.get('open') is io.open]
        print(opens[0]['open']('$FOLDER/secret').read())""",
    # ---- the server
    "reads the server's environment": "print(open('/proc/$SERVER/environ', 'rb').read().split(b'SECRET-')[1][:40])",
    "reads the victim's words": "b'sleep' in open('/proc/$VICTIM/cmdline', 'rb').read() and escaped()",
    "reads the memory map of the victim": "open('/proc/$VICTIM/maps').read() and escaped()",
    "reads the victim's memory": """
        at = int(open('/proc/$VICTIM/maps').read().split('-')[0], 16)
        memory = os.open('/proc/$VICTIM/mem', os.O_RDONLY); os.pread(memory, 4, at) and escaped()""",
    "reads with process_vm_readv": """
        at = int(open('/proc/$VICTIM/maps').read().split('-')[0], 16); got = ctypes.create_string_buffer(8)
        mine = struct.pack('QQ', ctypes.addressof(got), 8); theirs = struct.pack('QQ', at, 8)
        call((310, 270), $VICTIM, mine, 1, theirs, 1, 0) and escaped()""",
    "asks whether the victim lives": "os.kill($VICTIM, 0); escaped()",
    "signals the victim": "os.kill($VICTIM, signal.SIGCONT); escaped()",
    "signals with tgkill": "call((234, 131), $VICTIM, $VICTIM, 18); escaped()",
    "signals with rt_sigqueueinfo": """
        info = struct.pack('iii', 18, 0, -1).ljust(128, b'\\0'); call((129, 138), $VICTIM, 18, info); escaped()""",
    "signals with a descriptor of the process": "call(424, call(434, $VICTIM, 0), 18, 0, 0); escaped()",
    "signals all of the group": "signal.signal(18, signal.SIG_IGN); os.killpg(0, 18); escaped()",
    "signals by the owner of a pipe": """
        import fcntl
        a, b = os.pipe(); fcntl.fcntl(a, 10, 18); fcntl.fcntl(a, fcntl.F_SETOWN, $VICTIM)
        fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC); os.write(b, b'x'); escaped()""",
    "traces the victim": "call((101, 117), 0x4206, $VICTIM, 0, 0); escaped()",
    "limits the victim": "resource.prlimit($VICTIM, resource.RLIMIT_NOFILE, (11, 11)); escaped()",
    "slows the victim": "os.setpriority(os.PRIO_PROCESS, $VICTIM, 9); escaped()",
    "slows the user": "os.setpriority(os.PRIO_PROCESS, os.getpid(), 3); escaped()",
    "binds the victim to a processor": "os.sched_setaffinity($VICTIM, {0}); escaped()",
    "changes the victim's scheduling": "os.sched_setscheduler($VICTIM, os.SCHED_BATCH, os.sched_param(0)); escaped()",
    "changes the victim's disk priority": "call((251, 30), 1, $VICTIM, 2 << 13 | 7); escaped()",
    "reads the victim's limits": "resource.prlimit($VICTIM, resource.RLIMIT_NOFILE); escaped()",
    "reads the victim's processors": "os.sched_getaffinity($VICTIM); escaped()",
    # ---- files
    "writes a file": "os.open('$FOLDER/kept', os.O_WRONLY | os.O_TRUNC); escaped()",
    "appends to a file": "open('$FOLDER/kept', 'a').write(''); escaped()",
    "opens a file for both": "os.open('$FOLDER/kept', os.O_RDWR); escaped()",
    "truncates while opening to read": "os.open('$FOLDER/empty', os.O_RDONLY | os.O_TRUNC); escaped()",
    "truncates by path": "os.truncate('$FOLDER/empty', 0); escaped()",
    "makes a file": "os.open('$FOLDER/new1', os.O_CREAT); escaped()",
    "makes a file without a name": "os.open('$FOLDER', os.O_TMPFILE | os.O_RDWR); escaped()",
    "makes a folder": "os.mkdir('$FOLDER/new2'); escaped()",
    "makes a link": "os.symlink('/etc/passwd', '$FOLDER/new3'); escaped()",
    "makes a second name": "os.link('$FOLDER/empty', '$FOLDER/new4'); escaped()",
    "makes a pipe with a name": "os.mkfifo('$FOLDER/new5'); escaped()",
    "renames": "os.rename('$FOLDER/renamed', '$FOLDER/new6'); escaped()",
    "removes": "os.remove('$FOLDER/removed'); escaped()",
    "changes a mode": "os.chmod('$FOLDER/empty', 0o606); escaped()",
    "changes a time": "os.utime('$FOLDER/empty', (1, 1)); escaped()",
    "changes an owner": "os.chown('$FOLDER/empty', os.getuid(), os.getgid()); escaped()",
    "changes an attribute": "os.setxattr('$FOLDER/empty', 'user.x', b'1'); escaped()",
    "changes the folder it is in": "os.chdir('/'); escaped()",
    "locks a file": "import fcntl; fcntl.flock(os.open('$FOLDER/empty', 0), fcntl.LOCK_EX); escaped()",
    "watches a folder": """
        fd = call((294, 26), 0); call((254, 27), fd, b'$FOLDER', 2); escaped()""",
    "writes in the room of its own": "os.open(os.environ['TMPDIR'] + '/new-$NAME', os.O_CREAT | os.O_EXCL); escaped()",
    # ---- more processes
    "forks": "os.waitpid(os.fork() or os._exit(0), 0); escaped()",
    "starts a program": "os.system('true') == 0 and escaped()",
    "starts by posix_spawn": "os.posix_spawn('/bin/true', ['true'], {}); escaped()",
    "becomes a program": """
        a, b = os.pipe()
        os.dup2(3, 1); os.execv(sys.executable, [sys.executable, '-c',
            "import struct,os; t=b'ESCAPED'; os.write(3, struct.pack('<qq', 3, len(t)) + t)"])""",
    "clones": "call((56, 220), 17, 0, 0, 0, 0) or os._exit(0); escaped()",
    "clones by clone3": """
        arguments = struct.pack('11Q', 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
        call(435, arguments, 88) or os._exit(0); escaped()""",
    "starts a thread": "one = threading.Thread(target=lambda: None); one.start(); escaped()",
    # ---- namespaces
    "makes a namespace of its own": "call((272, 97), 0x10000000); escaped()",
    "lives on without its parent": "call((157, 167), 1, 0, 0, 0, 0); escaped()",
    "changes its name": "call((157, 167), 15, b'python', 0, 0, 0); escaped()",
    "changes its personality": "call((135, 92), 0x0040000); escaped()",
    # ---- sockets
    "calls over TCP": "socket.create_connection(('127.0.0.1', $TCP), 1); escaped()",
    "calls over TCP by IPv6": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM); escaped()",
    "listens over TCP": "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); escaped()",
    "sends over UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', $UDP)); escaped()",
    "calls a socket by path": "socket.socket(socket.AF_UNIX).connect('$FOLDER/socket'); escaped()",
    "calls an abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0$NAME'); escaped()",
    "asks netlink": "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0)); escaped()",
    "makes a pair of sockets": "socket.socketpair(); escaped()",
    "makes a crypto socket": "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); escaped()",
    # ---- shared and lasting things of the kernel
    "makes shared memory": "call((31, 195), call((29, 194), 0, 4096, 0o1600), 0, 0); escaped()",
    "reads shared memory": """
        libc.shmat.restype = ctypes.c_void_p; at = libc.shmat($SHM, None, 0o10000)
        at not in (None, 2**64 - 1) and escaped(ctypes.string_at(at, 7))""",
    "makes a queue": "call((71, 187), call((68, 186), 0, 0o1600), 0, 0); escaped()",
    "makes a semaphore": "call((66, 191), call((64, 190), 0, 1, 0o1600), 0, 0, 0); escaped()",
    "makes POSIX shared memory": """
        fd = os.open('/dev/shm/new-$NAME', os.O_CREAT | os.O_RDWR); os.unlink('/dev/shm/new-$NAME'); escaped()""",
    "makes memory with a descriptor": "os.memfd_create('x'); escaped()",
    "adds a key": "call((248, 217), b'user', b'x$NAME', b'x', 1, -3); escaped()",
    "asks for a keyring": "call((250, 219), 0, -3, 1); escaped()",
    "makes an event": "os.eventfd(0); escaped()",
    "makes a pipe": "os.pipe(); escaped()",
    "makes a timer": "call((283, 85), 1, 0); escaped()",
    "makes an epoll": "import select; select.epoll(); escaped()",
    "sets an alarm": "signal.setitimer(signal.ITIMER_REAL, 1000); escaped()",
    "sends a file to itself": """
        a = os.open(sys.modules['os'].__file__, 0); a2, b2 = os.pipe(); os.splice(a, b2, 10); escaped()""",
    # ---- rarely used doors of the kernel
    "makes an io_uring": "call(425, 4, ctypes.create_string_buffer(120)); escaped()",
    "asks for a landlock": "call(444, 0, 0, 1); escaped()",
    "compares with the server": "call((312, 272), os.getpid(), os.getpid(), 1, 0, 0); escaped()",
    "takes a handle of a file": """
        handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 140); mark = ctypes.c_int()
        call((303, 264), -100, b'$FOLDER/secret', handle, ctypes.byref(mark), 0); escaped()""",
    "locks memory": "call((149, 228), ctypes.create_string_buffer(10), 10); escaped()",
    "moves pages": "call((279, 239), 0, 0, 0, 0, 0, 0); escaped()",
    "raises its own limit": """
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1])); escaped()""",
    "binds itself to a processor": "os.sched_setaffinity(0, os.sched_getaffinity(0)); escaped()",
    "unmasks": "os.umask(0); escaped()",
    "calls in the manner of 32 bits": """
        page = mmap.mmap(-1, 4096, prot=7); page.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        ctypes.CFUNCTYPE(ctypes.c_int)(at)() == os.getpid() and escaped()""",
}  # fmt: skip

#: As root only: what an ordinary user may not anyway.
ROOT: dict[str, str] = {
    "mounts": "call((165, 40), b'none', b'$FOLDER', b'tmpfs', 0, 0); libc.umount(b'$FOLDER'); escaped()",
    "changes the root": "os.chroot('$FOLDER'); escaped()",
    "makes a device": "os.mknod('$FOLDER/new8', 0o600 | stat.S_IFCHR, os.makedev(1, 1)); escaped()",
    "becomes somebody else": "os.setuid(65534); escaped()",
    "names the machine": "call((170, 161), socket.gethostname().encode(), len(socket.gethostname())); escaped()",
    "is faster than others": "os.nice(-3); escaped()",
    "loads bpf": """
        attributes = struct.pack('IIII', 2, 4, 4, 1).ljust(128, b'\\0'); call((321, 280), 0, attributes, 128); escaped()""",
    "listens to all packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); escaped()",
    "reads the kernel's log": "call((103, 116), 10, 0, 0); escaped()",
    "watches with fanotify": "call((300, 262), 0, 0); escaped()",
    "looks at page faults": "call((323, 282), 0o2000000); escaped()",
    "joins the server's namespaces": "call((308, 268), os.open('/proc/$SERVER/ns/net', 0), 0); escaped()",
    "opens a file by its handle": """
        handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 140); mark = ctypes.c_int()
        call((303, 264), -100, b'$FOLDER/secret', handle, ctypes.byref(mark), 0)
        fd = call((304, 265), os.open('$FOLDER', 0), handle, 0); print(os.read(fd, 99))""",
}

#: What does no harm even without isolation, where the process around it holds already; or would do too much there.
HELD: dict[str, str] = {
    "looks into its own environment": "print(dict(os.environ), open('/proc/self/environ').read())",
    "looks into environ": """
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, 'environ'); k = 0
        while environ[k]: print(environ[k]); k += 1""",
    "reads memory before an array": """
        held = np.arange(8); at = held.__array_interface__['data'][0]
        near = np.frombuffer((ctypes.c_char * 65536).from_address(at - 4096), np.uint8).tobytes()
        for one in near.split(b'SECRET-')[1:]:
            if one[:32].isalnum(): escaped(one[:32])  # a secret, and not this text, which lies there too""",
    "makes an object of an address": """
        target = object(); text = struct.pack('P', id(target))
        made = np.ndarray((1,), 'O', text * 2, 0)[0]; assert made is target
        function = made.__class__.__base__ or made.__class__
        print([c for c in function.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__
              .__globals__['environ'])""",
    "finds the server's objects": "print([o for o in gc.get_objects() if isinstance(o, dict) and 'COLLSIM_TOKEN' in o])",
    "fills the memory": "hoard = [np.ones(10**6) for _ in range(10**6)]; escaped()",
    "fills the memory without touching it": "hoard = [mmap.mmap(-1, 1 << 30) for _ in range(1000)]; escaped()",
    "fills shared memory": "hoard = [mmap.mmap(-1, 1 << 26, flags=1) for _ in range(1000)]; escaped()",
    "runs without end": """
        while True: pass""",
    "sleeps through its end": """
        while True:
            try: time.sleep(60)
            except BaseException: pass""",
    "ignores the end of its time": """
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: pass""",
    "floods its output": """
        while True: print('x' * 10**6)""",
    "floods the way out": """
        while True: os.write(3, b'x' * 10**6)""",
    "floods every descriptor": """
        for fd in range(64):
            try:
                for _ in range(10**3): os.write(fd, b'x' * 10**5)
            except OSError: pass""",
    "forges frames": """
        for fd in range(64):
            try: os.write(fd, b'{"n":2,"chunks":Infinity}' + b'[' * 200_000)
            except OSError: pass""",
    "forges a length": "os.write(3, struct.pack('<qq', 1, 2**62)); os.write(3, b'x' * 100); os._exit(0)",
    "forges a negative length": "os.write(3, struct.pack('<qq', 1, -1)); os._exit(0)",
    "forges many frames": "os.write(3, struct.pack('<qq', 3, 0) * 10**5); os._exit(0)",
    "forges an ending": """
        body = struct.pack('<qqq', 0, 0, 10**9)
        for fd in range(64):
            try: os.write(fd, body * 100)
            except OSError: pass
        os._exit(0)""",
    "closes everything": "os.closerange(0, 64); yield 1",
    "opens everything": """
        held = []
        while len(held) < 100: held.append(os.open('/dev/null', 0))
        escaped()""",
    "writes over itself": "ctypes.memset(0, 0, 100); yield 1",
    "jumps to nowhere": "ctypes.CFUNCTYPE(None)(1)(); yield 1",
    "breaks the stack": """
        def g(): return g()
        sys.setrecursionlimit(10**9); g()""",
    "makes a POSIX queue": """
        call((240, 180), b'x$NAME', 0o102, 0o600, 0); call((241, 181), b'x$NAME'); escaped()""",
    "raises a hard limit": "resource.setrlimit(resource.RLIMIT_CPU, (99, 99)); escaped()",
    "aborts": "os.abort(); yield 1",
    "calls in the manner of x32": "call(0x40000000 + 39); escaped()",
    "asks to be debugged": "call((101, 117), 0, 0, 0, 0); call((157, 167), 0x59616d61, -1, 0, 0, 0); escaped()",
    "takes the filter off": "call((317, 277), 0, 0, 0) ; escaped()",
    "patches the library": """
        import collsim.sandbox.frames, collsim.verify
        collsim.verify.verify = lambda s: None; collsim.sandbox.frames.split_frames = lambda d: []
        yield cs.copy(0, 99, chunk=0)""",
    "makes deep folders": """
        path = os.environ['TMPDIR']
        for _ in range(3000):
            path += '/d'; os.mkdir(path)
        escaped()""",
    "reads the keeper's memory": """
        parent = os.getppid(); fd = os.open(f'/proc/{parent}/mem', 0); escaped()""",
    "writes its own memory by file": "os.open('/proc/self/mem', os.O_RDWR); os.open('/proc/sys/vm/drop_caches', 1); escaped()",
}  # fmt: skip
