"""Nothing depends on one host: the roles in network namespaces, which share PostgreSQL and Redis and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.faults.backing import Backing
from tests.scale.hosts.scenario import EVENTS_PORT, LEASE_SECONDS, PORT
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.postgresql import Base
from tests.services.processes import ROOT

SECONDS = 600.0  # also on a machine that other work shares
HELD = """
A submission to one host is listed by the other
The live stream of a third host shows it
A worker's host delivers it, once
Both hosts count for the same limit
A request that is repeated at the other host is stored once
Both hosts export the same
A login at one host is valid at the other
A key that is revoked at one host is refused by the other
With a web host and a worker's host gone, the other web host goes on
The other worker's host takes over the deliveries in flight
No host has sent anything to anybody else
"""


def test_roles__on_five_hosts_that_share_only_the_network__depend_on_none_of_them(
    own_backing: Backing, tmp_path: Path
) -> None:
    name = own_backing.new_postgresql().rsplit("/", 1)[1]
    copy = Base(own_backing.postgresql)
    try:
        settings = {
            "DJANGO_SETTINGS_MODULE": "tests.services.settings",
            "PORT": str(PORT),
            "EVENTS_PORT": str(EVENTS_PORT),
            "PUBLIC_URL": f"http://10.77.0.11:{PORT}",
            "EVENTS_URL": f"http://10.77.0.15:{EVENTS_PORT}",
            "ALLOWED_HOSTS": "10.77.0.11,10.77.0.12,10.77.0.15,127.0.0.1",
            "WEBHOOK_ALLOWED_NETWORKS": "10.77.0.0/24",
            "DELIVERY_LEASE_SECONDS": str(LEASE_SECONDS),
        }
        environment = service_environment(
            data_dir=tmp_path, backend=POSTGRESQL, database_url=f"postgresql://-/{name}", redis_url="-", extra=settings
        )
        user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        # With its own processes: however it ends, the kernel ends everything that it has started.
        command = ["unshare", *user, "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
        result = subprocess.run(
            [*command, sys.executable, "-m", "tests.scale.hosts.scenario", str(copy.directory)],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    finally:
        shutil.rmtree(copy.directory, ignore_errors=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip() == HELD.strip()
