#!/usr/bin/env python3
"""A FlowFabric worker in nothing but Python's standard library.

    ff dev                                      # a server on this machine
    python3 worker.py                           # this worker, in another window
    ff submit greet '{"name":"Ada"}'            # some work for it

A handler takes a Task and returns the result; when it raises, the attempt has failed, and is tried
again as the execution's policy says. Import this file, add handlers of your own and call main().
"""
import argparse, base64, json, os, signal, socket, threading, time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit


class Task:
    """What a handler is given. When `lost` is set the work is not ours any more: stop."""

    def __init__(self, claimed):
        self.id, self.kind = claimed["execution_id"], claimed["execution_kind"]
        self.attempt, self.handle = claimed["attempt_index"], claimed["handle"]
        self.input = base64.b64decode(claimed["input_payload"]["base64"])
        self.lost = threading.Event()


HANDLERS = {"greet": lambda task: f"Hello, {json.loads(task.input)['name']}!"}  # by kind
LOST = ("stale_lease", "lease_expired", "lease_revoked", "execution_not_active")


class Refused(OSError):
    """The server said no: status and code. `again`: it asks to come again."""
    again = False


class Slot(threading.Thread):
    """A thread that takes work, does it and says how it went, one task at a time."""

    def __init__(self, options, number):
        super().__init__(daemon=True)
        self.options, self.stopping = options, threading.Event()
        self.instance = f"{socket.gethostname()}-{os.getpid()}-{number}"
        self.task = self.parked = None
        self.register_at = 0

    def call(self, path, body, on_sent=lambda sock: None):
        url = urlsplit(self.options.url)
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = kind(url.netloc, timeout=60)
        token = os.environ.get("FF_API_TOKEN", "")
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            on_sent(connection.sock)
            answer = connection.getresponse()
            said = json.loads(answer.read() or "{}")
        except ValueError:  # a page of something between here and the server
            raise HTTPException(f"status {answer.status}, and no JSON") from None
        finally:
            connection.close()
        if answer.status >= 400:
            no = Refused(answer.status, said.get("code"), said.get("error"))
            # Without a code it was not the server that spoke.
            no.again = said.get("retryable") or "code" not in said or answer.status in (429, 503)
            raise no
        return said

    def register(self):
        """Makes the worker known, for `ff workers` and `ff why`; again every third of a minute."""
        body = {"worker_instance_id": self.instance, "namespace": "default",
                "lanes": self.options.lane, "liveness_ttl_ms": 60_000}
        self.call("/v1/workers/python/register", body)
        self.register_at = time.monotonic() + 20

    def poll(self):
        if time.monotonic() >= self.register_at:
            self.register()
        body = {"worker_instance_id": self.instance, "lanes": self.options.lane,
                "kinds": list(HANDLERS), "lease_ttl_ms": self.options.lease_ms, "block_ms": 20_000}
        found = self.call("/v1/workers/python/poll", body, on_sent=self.park)
        self.parked = None
        return Task(found["tasks"][0]) if found else None

    def park(self, sock):
        self.parked = sock
        if self.stopping.is_set():
            self.leave()

    def leave(self):
        """Takes no more work. A parked poll stops sending and listens on: a task that is on its way
        still arrives (and is given back), any other stays with the server."""
        self.stopping.set()
        try:
            socket.socket.shutdown(self.parked, socket.SHUT_WR)  # under TLS too: its own does more
        except (OSError, TypeError):
            pass  # nothing is parked, or it has just been answered

    def tell(self, task, verb, **body):
        """Says something about a task until it is heard or the lease is over; repeating is safe."""
        path = f"/v1/executions/{quote(task.id)}/attempts/{task.attempt}/{verb}"
        end = time.monotonic() + self.options.lease_ms / 1000
        while time.monotonic() < end and not task.lost.is_set():
            try:
                return self.call(path, {"handle": task.handle, **body})
            except Refused as no:
                if no.args[1] in LOST:
                    task.lost.set()
                elif not no.again:
                    raise
            except (OSError, HTTPException) as fault:
                print(f"{task.id}: {verb}: {fault}", flush=True)
            time.sleep(0.5)

    def keep(self, task, done):
        while not done.wait(self.options.lease_ms / 3000):
            self.tell(task, "renew", lease_ttl_ms=self.options.lease_ms)

    def work(self, task):
        done = threading.Event()
        threading.Thread(target=self.keep, args=(task, done), daemon=True).start()
        try:
            result = HANDLERS[task.kind](task)
            self.tell(task, "complete", result_payload={"json": result})
        except Exception as fault:  # whatever a handler raises is an outcome
            self.tell(task, "fail", failure_reason=repr(fault)[:1000], failure_category="transient")
        done.set()

    def run(self):
        while not self.stopping.is_set():
            try:
                self.task = self.poll()
                if self.task and self.stopping.is_set():
                    self.tell(self.task, "release")
                elif self.task:
                    self.work(self.task)
            except (OSError, HTTPException) as fault:
                if self.task or not self.stopping.is_set():  # a poll that was left ends like this
                    print(f"{self.task.id if self.task else 'poll'}: {fault}", flush=True)
                self.stopping.wait(1)
            self.task = None
        try:
            body = {"worker_instance_id": self.instance, "namespace": "default",
                    "reason": "stopped"}
            self.call("/v1/workers/python/dead", body)
        except (OSError, HTTPException):
            pass  # then the registry forgets it by itself


def main():
    parser = argparse.ArgumentParser(description="A FlowFabric worker.")
    parser.add_argument("--url", default="http://127.0.0.1:9090")
    parser.add_argument("--lane", nargs="+", default=["default"])
    parser.add_argument("--slots", type=int, default=4, help="how many tasks at a time")
    parser.add_argument("--lease-ms", type=int, default=30_000)
    parser.add_argument("--grace", type=float, default=10, help="seconds to finish in when stopped")
    options = parser.parse_args()
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # they are waited for
    slots = [Slot(options, number) for number in range(options.slots)]
    for slot in slots:
        slot.start()
    signal.sigwait(ends)
    end = time.monotonic() + options.grace
    for slot in slots:
        slot.leave()
    for slot in slots:
        slot.join(max(0, end - time.monotonic()))
        if slot.is_alive() and (task := slot.task):
            slot.tell(task, "release")  # not finished: it goes on elsewhere, at once


if __name__ == "__main__":
    main()
