"""
FILES_URL: the S3-compatible service that stores files, in one address.

    s3://KEY:SECRET@host[:port]/bucket[/prefix]?region=…&scheme=http|https&addressing=path|virtual
    s3://bucket[/prefix]?region=…      Amazon S3, with credentials as boto3 finds them

A host is named by credentials or a port in front of the path; otherwise the first part is the bucket. Percent-encode
keys that have `/`, `+` or `:`.
"""

import dataclasses
import re
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

_OPTIONS = {  # name -> its values, and the sentence about any other
    "scheme": (r"https?", "The option scheme is neither https nor http."),
    "addressing": (r"path|virtual", "The option addressing is neither path nor virtual."),
    "region": (r"[A-Za-z0-9-]{1,64}", "The option region is not the name of a region."),
}
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html; others allow capitals and underscores.
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,62}")
DEFAULT_REGION = "us-east-1"  # a signature names one; services without regions accept it


class WrongFilesUrl(ValueError):
    """A sentence that says what is wrong with FILES_URL, without its secret."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bucket:
    """Where files are. `endpoint` is None for Amazon S3; empty keys mean credentials as boto3 finds them."""

    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    addressing: str | None = None
    access_key: str = ""
    secret_key: str = dataclasses.field(default="", repr=False)


def read_files_url(url: str) -> Bucket:
    """Return the bucket of a FILES_URL that is not empty; raise WrongFilesUrl."""
    parts = _split(url)
    options = _options(parts)
    credentials = _credentials(parts)
    host, port = parts.hostname or "", parts.port
    path = unquote(parts.path).strip("/")
    endpoint = None
    if credentials or port:
        scheme = options.get("scheme", "https")
        endpoint = f"{scheme}://{f'[{host}]' if ':' in host else host}" + (f":{port}" if port else "")
        name, _, prefix = path.partition("/")
    else:
        name, prefix = parts.netloc, path  # `hostname` is in lower case
        if "scheme" in options:
            raise WrongFilesUrl("The option scheme needs a host with credentials or a port.")
    if not _BUCKET.fullmatch(name):
        raise WrongFilesUrl("The name of the bucket is missing or wrong.")
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise WrongFilesUrl("The prefix has an empty part, or one of dots.")
    region = options.get("region") or (DEFAULT_REGION if endpoint else None)
    addressing = options.get("addressing") or ("path" if endpoint else None)
    return Bucket(name, prefix, endpoint, region, addressing, *credentials)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise WrongFilesUrl("It is not an address.") from None
    if parts.scheme != "s3" or not has_host or parts.fragment:
        raise WrongFilesUrl("It is not an s3:// address.")
    return parts


def _credentials(parts: SplitResult) -> tuple[str, ...]:
    if parts.username is None and parts.password is None:
        return ()
    found = unquote(parts.username or ""), unquote(parts.password or "")
    if not all(found):
        raise WrongFilesUrl("It has only one of access key and secret key.")
    return found


def _options(parts: SplitResult) -> dict[str, str]:
    options = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    if options.keys() - _OPTIONS.keys():  # not named: a `?` in a secret begins options, too
        raise WrongFilesUrl("It has another option than region, scheme and addressing.")
    for name, (values, problem) in _OPTIONS.items():
        if name in options and not re.fullmatch(values, options[name]):
            raise WrongFilesUrl(problem)
    return options
