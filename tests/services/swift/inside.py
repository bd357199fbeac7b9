"""
OpenStack Swift with its S3 interface in one process: proxy, account, container and objects on ports of loopback.

Debian's own Python runs this file, because its packages bring Swift: `/usr/bin/python3 inside.py PORT DIRECTORY
USER KEY BUCKET`. Swift's tests run it this way too (`test/functional/__init__.py`). Objects are kept in memory; the
proxy's middleware `s3api` and `tempauth` compare the signature (AWS, version 4) of every request.
"""

import sys
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi  # noqa: E402 - after the patch
from swift.account import server as account_server  # noqa: E402  # after the patch
from swift.common import storage_policy, utils  # noqa: E402  # after the patch
from swift.common.middleware import catch_errors, copy, gatekeeper, listing_formats, slo, tempauth  # noqa: E402  # after the patch
from swift.common.middleware.s3api import s3api  # noqa: E402  # after the patch
from swift.common.ring import RingData  # noqa: E402  # after the patch
from swift.common.swob import Request  # noqa: E402  # after the patch
from swift.container import server as container_server  # noqa: E402  # after the patch
from swift.obj import mem_server  # noqa: E402  # after the patch
from swift.proxy import server as proxy_server  # noqa: E402  # after the patch

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = fieldpost
[storage-policy:0]
name = only
default = yes
"""
PART_SHIFT = 31  # two partitions


class Cache(dict[str, Any]):
    """Serves as memcached, for one process."""

    def __bool__(self) -> bool:
        return True  # an empty one too: Swift asks this to see whether there is one

    def set(self, key: str, value: Any, **_options: Any) -> None:
        self[key] = value

    def get(self, key: str, default: Any = None, **_options: Any) -> Any:
        return super().get(key, default)

    def delete(self, key: str, **_options: Any) -> None:
        self.pop(key, None)


def main(port: int, directory: Path, user: str, key: str, bucket: str) -> None:
    """Serve until the process ends; `user` is `account:name`."""
    (directory / "swift.conf").write_text(SWIFT_CONF)
    (directory / "devices" / "sda").mkdir(parents=True)
    utils.set_swift_dir(str(directory))
    storage_policy.reload_storage_policies()
    conf = {
        "swift_dir": str(directory),
        "devices": str(directory / "devices"),
        "mount_check": "false",
        "workers": "0",
        "log_level": "WARNING",
    }
    parts = {"account": account_server, "container": container_server, "object": mem_server}
    listeners = {name: eventlet.listen(("127.0.0.1", 0)) for name in parts}
    for name, listener in listeners.items():
        _write_ring(directory / f"{name}.ring.gz", listener.getsockname()[1])
    logger = utils.get_logger(conf, "swift")
    for name, module in parts.items():
        eventlet.spawn(wsgi.server, listeners[name], module.app_factory(conf), log=utils.NullLogger())
    proxy = _proxy(conf, user, key)
    managing = proxy_server.Application(conf | {"allow_account_management": "true"}, logger=logger)
    account = f"/v1/AUTH_{user.partition(':')[0]}"
    for path in (account, f"{account}/{bucket}"):
        request = Request.blank(path, environ={"REQUEST_METHOD": "PUT"})
        answer = request.get_response(managing)
        assert answer.is_success, (path, answer.status, answer.body)
    logger.warning("Swift listens")
    wsgi.server(eventlet.listen(("127.0.0.1", port)), proxy, log=utils.NullLogger())


def _write_ring(path: Path, port: int) -> None:
    device = {"id": 0, "zone": 0, "region": 1, "ip": "127.0.0.1", "port": port, "device": "sda", "weight": 1.0}
    device |= {"replication_ip": "127.0.0.1", "replication_port": port}
    RingData([array("H", [0, 0])], [device], PART_SHIFT).save(str(path))


def _proxy(conf: dict[str, str], user: str, key: str) -> Callable[..., Iterable[bytes]]:
    """Return the proxy behind its middleware, in the order of Swift's example configuration."""
    account, _, name = user.partition(":")
    app = proxy_server.Application(conf, logger=utils.get_logger(conf, "proxy"))
    app = slo.filter_factory(conf)(app)
    app = copy.filter_factory(conf)(app)
    app = tempauth.filter_factory(conf, **{f"user_{account}_{name}": f"{key} .admin"})(app)
    app = s3api.filter_factory(conf, s3_acl="false", location="us-east-1")(app)
    app = listing_formats.filter_factory(conf)(app)
    app = gatekeeper.filter_factory(conf)(app)
    app, cache = catch_errors.filter_factory(conf)(app), Cache()

    def with_cache(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["swift.cache"] = cache
        answer: Iterable[bytes] = app(environ, start_response)
        return answer

    return with_cache


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
