"""
A mail relay that answers 5xx, and heals (F30).

The relay heals when it has refused each mail once, and in one round when all have failed and are replayed; it refuses
every second one until the end. Webhooks of the same submissions are delivered meanwhile.
"""

import itertools
import time

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.faults.case import Run, fault
from tests.faults.points import point
from tests.faults.standard_points import DELAYS
from tests.faults.world import World
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually

REFUSAL = "550 5.7.1 your address is blocked"
SCHEDULE = [2.0, 5.0, 10.0, *[2.0] * 7]  # seconds; a recipient has four attempts, everything else eleven
QUICK = (("MAIL", 1), ("RCPT", 1), ("MAIL", 2))
HEALED_SECONDS = 60.0
RECIPIENT_TRIES = 4
LINE = "the mail server takes no mails now"
MOST_LINES = 6  # for a reason and process; two deliver


class Relay(MailReceiver):
    """A relay that refuses at `verb`: EHLO, MAIL, RCPT, or "" for nothing. `every`: each second time only."""

    def __init__(self) -> None:
        super().__init__()
        self.verb, self.every = "", 1
        self._numbers = itertools.count(1)

    def _refusal(self, verb: str) -> str | None:
        return REFUSAL if verb == self.verb and next(self._numbers) % self.every == 0 else None

    # The names below are aiosmtpd's.
    async def handle_EHLO(
        self, _server: SMTP, session: Session, _envelope: Envelope, name: str, responses: list[str]
    ) -> list[str]:
        session.host_name = name
        refusal = self._refusal("EHLO")
        return [refusal] if refusal else responses

    async def handle_HELO(self, _server: SMTP, session: Session, _envelope: Envelope, name: str) -> str:
        session.host_name = name
        return self._refusal("EHLO") or "250 fine"

    async def handle_MAIL(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        refusal = self._refusal("MAIL")
        envelope.mail_from = None if refusal else address
        return refusal or "250 fine"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        return self._refusal("RCPT") or await super().handle_RCPT(server, session, envelope, address, options)


@fault("F30", "a mail relay answers 5xx, to all mails or to every second one, then heals", quick=True)
def refusing_relay(run: Run) -> None:
    delays = point(DELAYS, "set", value=SCHEDULE)
    with Relay() as relay, run.own_world(settings={"EMAIL_URL": relay.url}, points={"delays": delays}) as world:
        for verb, every in QUICK if run.quick else (*QUICK, ("EHLO", 1)):
            refuse(run, world, relay, verb, every)
        if not run.quick:
            refuse_recipients_to_the_end(run, world, relay)
        lines = world.logged(LINE)
        run.expect(1 <= lines <= MOST_LINES, f"{lines} log lines about the relay")
        run.note(f"{lines} log lines about the relay")


def refuse(run: Run, world: World, relay: Relay, verb: str, every: int) -> None:
    """Submit while the relay refuses at `verb`, heal it, and expect each mail once."""
    address = f"{verb.lower()}-{every}@example.com"
    tenant = run.tenant(world, [["/ok"]], recipients=[address])
    poster = run.poster(world, tenant)
    relay.verb, relay.every = verb, every
    poster.start(run.pick(quick=4, full=20), rate=10)
    poster.join()
    if every == 1:
        eventually(lambda: len(attempts_at(world, address)) == len(poster.posts) and min(attempts_at(world, address)))
        run.expect(not relay.to(address), "a mail arrived that was refused")
        relay.verb = ""
    run.judge(world, tenant, poster)  # the webhooks
    eventually(lambda: len(relay.to(address)) >= len(poster.accepted), HEALED_SECONDS, f"mails to {address}")
    ids = {mail.message["Message-ID"] for mail in relay.to(address)}
    run.expect(len(ids) == len(relay.to(address)) == len(poster.accepted), f"mails refused at {verb} came twice")
    relay.verb = ""
    run.forget(world, tenant)


def refuse_recipients_to_the_end(run: Run, world: World, relay: Relay) -> None:
    """Refuse each recipient until its mails have failed, heal, replay the day, and expect each mail once."""
    address = "replayed@example.com"
    tenant = run.tenant(world, [["/ok"]], recipients=[address])
    poster = run.poster(world, tenant)
    relay.verb, relay.every = "RCPT", 1
    poster.start(20, rate=10)
    poster.join()
    eventually(lambda: attempts_at(world, address) == [RECIPIENT_TRIES] * len(poster.posts), 120, "all have failed")
    relay.verb = ""
    day = time.strftime("%Y-%m-%d", time.gmtime(poster.posts[0].accepted))
    until = time.strftime("%Y-%m-%d", time.gmtime())
    span = ("--from", day, "--to", until)
    said = world.application.manage("replay_mails", tenant.slug, *span)
    run.expect(f"{tenant.slug}: {len(poster.posts)}" in said, f"the command said {said!r}")
    eventually(lambda: len(relay.to(address)) >= len(poster.accepted), HEALED_SECONDS, "the mails of the replay")
    again = world.application.manage("replay_mails", tenant.slug, *span)
    run.expect("0 mails are sent again" in again, f"the command said again {again!r}")
    run.expect(len(relay.to(address)) == len(poster.accepted), "a mail of the replay came twice")
    run.forget(world, tenant)


def attempts_at(world: World, address: str) -> list[int]:
    """Return how often each mail to this address was tried."""
    sql = f"SELECT attempt_count FROM webhooks_delivery WHERE channel = 'mail' AND target = '{address}'"
    return [count for (count,) in world.query(sql)]
