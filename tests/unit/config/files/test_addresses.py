"""FILES_URL and CLAMD_URL: their parts, and refusals that show no secret."""

import pytest
from pytest_django import Settings

from config.checks import check_clamd_url, check_files_url
from config.files.clamd_url import WrongClamdUrl, read_clamd_url
from config.files.s3_url import Bucket, WrongFilesUrl, read_files_url

KEYS = {"access_key": "a:b", "secret_key": "s/+x"}
HOST = "s3://a%3Ab:s%2F%2Bx@s3.example.com"


@pytest.mark.parametrize(
    ("url", "bucket"),
    [
        (f"{HOST}/files", Bucket("files", "", "https://s3.example.com", "us-east-1", "path", **KEYS)),
        (
            f"{HOST}:9000/files/a/b/?region=eu-1&scheme=http&addressing=virtual",
            Bucket("files", "a/b", "http://s3.example.com:9000", "eu-1", "virtual", **KEYS),
        ),
        ("s3://Files/a?region=eu-central-1", Bucket("Files", "a", None, "eu-central-1")),
        ("s3://files", Bucket("files")),
        ("s3://[::1]:9000/files", Bucket("files", "", "https://[::1]:9000", "us-east-1", "path")),
    ],
)
def test_files_url__in_each_form__names_a_bucket(url: str, bucket: Bucket) -> None:
    assert read_files_url(url) == bucket
    assert "s/+x" not in repr(read_files_url(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.example.com/files",
        "s3://",
        "s3:///files",
        "s3://only-a-key@s3.example.com/files",
        "s3://:hidden@s3.example.com/files",
        f"{HOST}/",
        f"{HOST}/no bucket",
        f"{HOST}/files/../other",
        f"{HOST}/files//a",
        f"{HOST}:99999/files",
        f"{HOST}:0/files",
        f"{HOST}/files?region=",
        f"{HOST}/files?region=a%20b",
        f"{HOST}/files?scheme=ftp",
        f"{HOST}/files?addressing=other",
        f"{HOST}/files?custom_domain=cdn.example.com",
        f"{HOST}/files#a",
        "s3://key:12?hidden@s3.example.com/files",
        "s3://files?scheme=http",
        "s3://[::1/files",
    ],
)
def test_files_url__of_another_form__is_an_error_without_its_secret(url: str, settings: Settings) -> None:
    with pytest.raises(WrongFilesUrl):
        read_files_url(url)
    settings.FILES_URL = url
    (found,) = check_files_url()
    assert found.id == "fieldpost.E022"
    assert "s%2F" not in str(found)
    assert "hidden" not in found.msg


def test_files_url__without_its_packages__is_an_error(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.FILES_URL = "s3://files"
    assert list(check_files_url()) == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "boto3" else name)
    (found,) = check_files_url()
    assert (found.id, found.msg) == ("fieldpost.E021", "FILES_URL is set, and boto3 cannot be imported.")
    assert "Install the packages boto3 and django-storages" in str(found.hint)


def test_files_url__over_http_to_another_host__is_a_warning(settings: Settings) -> None:
    settings.FILES_URL = "s3://key:secret@127.0.0.1:9000/files?scheme=http"
    assert list(check_files_url()) == []
    settings.FILES_URL = "s3://key:secret@s3.example.com/files?scheme=http"
    assert [found.id for found in check_files_url()] == ["fieldpost.W005"]


def test_clamd_url__in_both_forms__is_read(settings: Settings) -> None:
    read = [read_clamd_url(url) for url in ("tcp://10.0.0.1:3311", "tcp://[::1]", "unix:///run/clamav/clamd.ctl")]
    assert read == [("10.0.0.1", 3311), ("::1", 3310), "/run/clamav/clamd.ctl"]
    for settings.CLAMD_URL in ("", "tcp://10.0.0.1:3311"):
        assert list(check_clamd_url()) == []


@pytest.mark.parametrize(
    "url", ["10.0.0.1:3310", "http://10.0.0.1", "tcp://", "tcp://a:x", "tcp://a:0", "tcp://a/b", "unix://a/b", "unix:"]
)
def test_clamd_url__of_another_form__is_an_error(url: str, settings: Settings) -> None:
    with pytest.raises(WrongClamdUrl):
        read_clamd_url(url)
    settings.CLAMD_URL = url
    assert [found.id for found in check_clamd_url()] == ["fieldpost.E023"]
