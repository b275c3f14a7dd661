"""A client of the lock service in another language: unary calls only, written from locks.proto and commands.md.

    client.py NAME SERVER[,SERVER] HISTORY_FILE SEED LOGICAL_CLIENTS LOCKS

It takes part in `palisade chaos run` and keeps its history as the others do, one JSON object a line, for the same checkers. The
stubs are made by protoc from locks.proto and refusal.proto and stand on PYTHONPATH. It ends at the line `stop`.
"""

import json
import os
import random
import sys
import threading
import time

import grpc
import locks_pb2 as pb
import locks_pb2_grpc
import refusal_pb2

DEADLINE_SECONDS = 3.0
HOT_LOCKS = 2


class History:
    """A file of events. A line that was written survives a kill -9 of this process."""

    def __init__(self, client, path):
        self.client = client
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.mutex = threading.Lock()

    def write(self, event, **fields):
        # CLOCK_MONOTONIC: on Linux the one clock of all processes.
        line = {"event": event, "client": self.client, "at": time.monotonic_ns(), **fields}
        with self.mutex:
            os.write(self.file, (json.dumps(line) + "\n").encode())


class Refused(Exception):
    """A call that was refused, or whose outcome is not known: reason is of the closed list, or gRPC's own code."""

    def __init__(self, error):
        super().__init__(str(error))
        self.reason = error.code().name
        self.ended = "EXPIRED"
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                for detail in refusal_pb2.Status.FromString(value).details:
                    info = refusal_pb2.ErrorInfo.FromString(detail.value)
                    self.reason = info.reason
                    self.ended = info.metadata.get("ended", self.ended)


def until(sent, ttl_millis):
    """When a lease ends for its holder: counted from before the sending, shortened by a thousandth and 20 ms."""
    return sent + ttl_millis * 999_000 - 20_000_000


class Holder:
    """One logical client: a session of its own, and one request after another."""

    def __init__(self, name, stubs, history, locks, seed, stopping):
        self.name = name
        self.stubs = stubs
        self.history = history
        self.locks = locks
        self.random = random.Random(seed)
        self.stopping = stopping
        self.session = os.urandom(16)
        self.requests = 0
        self.failures = 0

    def run(self):
        while not self.stopping.is_set():
            self.requests += 1
            self.visit()
            self.stopping.wait(self.random.uniform(0.1, 0.4))

    def lock(self):
        if self.random.randrange(3) > 0:
            return "hot/%d" % self.random.randrange(HOT_LOCKS)
        return "counter/%d" % self.random.randrange(HOT_LOCKS, self.locks)

    def about(self, lock, grant=None):
        fields = {
            "lock": lock,
            "op": "%s-%d" % (self.name, self.requests),
            "request": "%s %d" % (self.session.hex(), self.requests),
        }
        if grant is not None:
            fields.update(token=grant.token, grant=grant.grant_id.hex())
        return fields

    def call(self, method, request, wait_millis=0):
        """Calls the server that replied last; after a failure, the next one: a standby refuses with NOT_ACTIVE."""
        stub = self.stubs[self.failures % len(self.stubs)]
        try:
            return getattr(stub, method)(
                request, timeout=DEADLINE_SECONDS + wait_millis / 1000, wait_for_ready=True)
        except grpc.RpcError as error:
            self.failures += 1
            raise Refused(error) from error

    def visit(self):
        lock = self.lock()
        wait = self.random.choice([0, 1500, 1500])
        request = pb.AcquireRequest(
            lock=lock, mode=pb.EXCLUSIVE, ttl_millis=self.random.randrange(1000, 2000), wait_millis=wait,
            request_id=self.requests, session_id=self.session, owner=self.name,
            purpose="%s-%d" % (self.name, self.requests))
        first = time.monotonic_ns()
        self.history.write("asked", mode="EXCLUSIVE", way="UNARY", wait_millis=wait, ttl_millis=request.ttl_millis,
                           lock_delay_millis=0, **self.about(lock))
        grant = self.acquire(request, first, "granted")
        if grant is None:
            # Whatever has become of it: once it is left it must not hold the lock.
            self.finish("left", lock, "Leave", pb.LeaveRequest(
                lock=lock, request_id=self.requests, session_id=self.session))
            return
        if wait:
            self.renew(request, grant)  # It waited: count from here instead of from the asking.
        if self.random.randrange(3) == 0:
            self.acquire(request, first, "granted-again")
        lapses = self.random.randrange(4) == 0
        self.stopping.wait(request.ttl_millis / 1000 + 0.3 if lapses else self.random.uniform(0, request.ttl_millis / 2000))
        self.renew(request, grant)
        self.history.write("releasing", **self.about(lock, grant))
        self.finish("released", lock, "Release", pb.ReleaseRequest(
            lock=lock, grant_id=grant.grant_id, token=grant.token, session_id=self.session))

    def acquire(self, request, first, event):
        """Asks, or asks once more: the same id is the same request. Its wait is what is left of the first one's."""
        sent = time.monotonic_ns()
        again = pb.AcquireRequest()
        again.CopyFrom(request)
        again.age_millis = (sent - first) // 1_000_000
        again.wait_millis = max(0, request.wait_millis - again.age_millis)
        fields = self.about(request.lock)
        fields.update(mode="EXCLUSIVE", asked=first if event == "granted" else sent)
        try:
            reply = self.call("Acquire", again, again.wait_millis)
        except Refused as refused:
            self.history.write("not-granted", reason=refused.reason, **fields)
            return None
        if reply.WhichOneof("outcome") != "granted":
            self.history.write("not-granted", reason=reply.WhichOneof("outcome").upper(), **fields)
            return None
        fields.update(token=reply.granted.token, grant=reply.granted.grant_id.hex())
        self.history.write(event, until=until(sent, request.ttl_millis), **fields)
        return reply.granted

    def renew(self, request, grant):
        sent = time.monotonic_ns()
        fields = self.about(request.lock, grant)
        try:
            ttl = self.renewed(request, grant)
            self.history.write("valid", until=until(sent, ttl), **{**fields, "at": sent})
        except Refused as refused:
            over = refused.reason == "LEASE_EXPIRED"
            self.history.write("lost" if over else "renew-failed",
                               reason=refused.ended if over else refused.reason, sent=sent, **fields)

    def renewed(self, request, grant):
        try:
            return self.call("Renew", pb.RenewRequest(
                lock=request.lock, grant_id=grant.grant_id, token=grant.token, session_id=self.session)).ttl_millis
        except Refused as refused:
            if refused.reason != "NOT_HOLDER":
                raise
        # The store may have lost it: shown its sequencer, it gives the lease back. Generation 1, each time.
        return self.call("Resume", pb.ResumeRequest(
            lock=request.lock, grant_id=grant.grant_id, token=grant.token, session_id=self.session, session_gen=1,
            sequencer=grant.sequencer, request_id=request.request_id, ttl_millis=request.ttl_millis,
            purpose=request.purpose, owner=request.owner)).ttl_millis

    def finish(self, event, lock, method, request):
        outcome = "OK"
        try:
            self.call(method, request)
        except Refused as refused:
            outcome = refused.reason
        self.history.write(event, outcome=outcome, **self.about(lock))


def main(name, servers, path, seed, logical, locks):
    # No proxy of the environment, and no long back-off: a client that waits between attempts would measure its own waiting.
    options = [("grpc.enable_http_proxy", 0), ("grpc.initial_reconnect_backoff_ms", 100),
               ("grpc.max_reconnect_backoff_ms", 200)]
    stubs = [locks_pb2_grpc.LocksStub(grpc.insecure_channel(server, options)) for server in servers.split(",")]
    history = History(name, path)
    stopping = threading.Event()
    threads = []
    print("ready %d" % time.monotonic_ns(), flush=True)
    for number in range(int(logical)):
        holder = Holder("%s.%d" % (name, number), stubs, history, int(locks), int(seed) * 31 + number, stopping)
        threads.append(threading.Thread(target=holder.run, daemon=True))
        threads[-1].start()
    for line in sys.stdin:
        if line.strip() == "stop":
            break
    stopping.set()
    for thread in threads:
        thread.join()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
