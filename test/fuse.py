#!/usr/bin/python3
"""fuse.py PATH [OPTIONS]: what a user can do to a record's path. It mounts a file system over PATH, as
any user may with fusermount3, and never answers a question about it. It prints "mounted", or "refused"
if fusermount3 refuses, and ends with its input."""
import array
import os
import socket
import subprocess
import sys

path, options = sys.argv[1], sys.argv[2:]
ours, theirs = socket.socketpair()
done = subprocess.run(["fusermount3", "-o", ",".join(["rw", "nosuid", "nodev", *options]), "--", path],
                      env={"_FUSE_COMMFD": str(theirs.fileno()), "PATH": "/usr/bin:/bin"}, pass_fds=[theirs.fileno()])
if done.returncode != 0:
    print("refused", flush=True)
else:
    device = array.array("i")
    _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    device.frombytes(ancillary[0][2])
    print("mounted", flush=True)
sys.stdin.read()
os._exit(0)
