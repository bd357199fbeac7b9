"""Messages that a receiver must accept or refuse, and the samples in `docs/verify/` that judge them."""

import dataclasses
import datetime as dt
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from standardwebhooks import Webhook

from tests.services.processes import ROOT
from tests.services.receivers import Received

SAMPLES = ROOT / "docs" / "verify"
RUNNERS = Path(__file__).parent
SUFFIXES = {"python": "py", "node": "mjs", "go": "go", "php": "php", "ruby": "rb"}
COMMANDS = {
    "node": ["node", "run.mjs"],
    "go": ["go", "run", "run.go", "verify.go"],
    "php": ["php", "run.php"],
    "ruby": ["ruby", "run.rb"],
}
RUN_SECONDS = 300.0  # go compiles its library at the first run

# The test vector of the specification.
SECRET, OTHER_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
ID, TIME, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@dataclasses.dataclass(frozen=True)
class Message:
    """A message as a receiver has it, the moment at which it is judged (epoch seconds), and the right verdict."""

    secret: str = SECRET
    id: str = ID
    timestamp: str = str(TIME)
    signatures: str = SIGNATURE
    body: str = BODY
    now: int = TIME
    is_genuine: bool = True


def signed(secret: str, body: str = BODY) -> str:
    """Return the signature by a published library, for the id and time of the test vector."""
    return Webhook(secret).sign(ID, dt.datetime.fromtimestamp(TIME, dt.UTC), body)


CASES = {
    "the test vector": Message(),
    "five minutes old": Message(now=TIME + 300),
    "five minutes ahead": Message(now=TIME - 300),
    "after a rotation, judged with the old secret": Message(signatures=f"{signed(OTHER_SECRET)} {SIGNATURE}"),
    "after a rotation, judged with the new secret": Message(signatures=f"{SIGNATURE} {signed(OTHER_SECRET)}"),
    "next to a signature of another version": Message(signatures=f"v1a,{'A' * 88} {SIGNATURE}"),
    "with other letters": Message(body="Grüße 🎉", signatures=signed(SECRET, "Grüße 🎉")),
    "a wrong signature": Message(signatures=f"v1,{'A' * 43}=", is_genuine=False),
    "the signature of another secret": Message(signatures=signed(OTHER_SECRET), is_genuine=False),
    "two wrong signatures": Message(signatures=f"{signed(OTHER_SECRET)} v1,{'A' * 43}=", is_genuine=False),
    "a part of the signature": Message(signatures=SIGNATURE[:20], is_genuine=False),
    "no signature": Message(signatures="", is_genuine=False),
    "a right signature of another version": Message(signatures=SIGNATURE.replace("v1", "v2"), is_genuine=False),
    "another body": Message(body=BODY + " ", is_genuine=False),
    "another id": Message(id=ID + "x", is_genuine=False),
    "another time": Message(timestamp=str(TIME + 1), is_genuine=False),
    "an old time": Message(now=TIME + 301, is_genuine=False),
    "a time ahead": Message(now=TIME - 301, is_genuine=False),
    "no time": Message(timestamp="", is_genuine=False),
    "a time that is no number": Message(timestamp=f"{TIME}x", is_genuine=False),
}


def received(message: Received, secret: str, *, is_genuine: bool = True) -> Message:
    """Return a message that the service sent, judged when it came."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    number, timestamp, signatures = (message.headers[name] for name in names)
    return Message(secret, number, timestamp, signatures, message.body.decode(), int(message.arrived), is_genuine)


def wrong_verdicts(language: str, messages: Mapping[str, Message]) -> list[str]:
    """Return the names of the messages that the sample of a language judges wrongly."""
    verdicts = run_sample(language, list(messages.values()))
    assert len(verdicts) == len(messages)
    return [name for (name, one), found in zip(messages.items(), verdicts, strict=True) if found is not one.is_genuine]


def run_sample(language: str, messages: Sequence[Message]) -> list[bool]:
    """Return the verdicts of a sample. Raises AssertionError when it fails."""
    if language == "python":
        return _run_python(messages)
    suffix = SUFFIXES[language]
    with tempfile.TemporaryDirectory(prefix="fieldpost-verify-") as name:
        directory = Path(name)
        for source in (SAMPLES / f"verify.{suffix}", RUNNERS / f"run.{suffix}"):
            shutil.copy(source, directory)
        given = json.dumps([dataclasses.asdict(message) for message in messages])
        # Go keeps its build cache there, and needs no compiler of C.
        environment = os.environ | {"GOCACHE": f"{name}/cache", "GO111MODULE": "off", "CGO_ENABLED": "0"}
        done = subprocess.run(
            COMMANDS[language],
            cwd=directory,
            env=environment,
            input=given.encode(),
            capture_output=True,
            timeout=RUN_SECONDS,
        )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    verdicts: list[bool] = json.loads(done.stdout)
    return verdicts


def _run_python(messages: Sequence[Message]) -> list[bool]:
    spec = importlib.util.spec_from_file_location("verify_sample", SAMPLES / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [
        module.verify(one.secret, one.id, one.timestamp, one.signatures, one.body.encode(), one.now) for one in messages
    ]
