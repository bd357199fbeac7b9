"""Clients that offer HTTP/2 without TLS: `java.net.http` by default, and curl. Their bodies are not lost."""

import json
import subprocess
from pathlib import Path

import pytest

from submissions.models import Submission
from tests.services.application import Application
from tests.services.packages import program
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

BODY = json.dumps({"name": "Ada"})
JAVA = """
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Post {
  public static void main(String[] given) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(given[0])).header("x-access-key", given[1])
        .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(given[2])).build();
    HttpClient client = HttpClient.newHttpClient();
    for (int number = 0; number < 2; number++)
      System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
  }
}
"""


def test_java_net_http__posts_and_is_stored(service: Application, tmp_path: Path) -> None:
    (tmp_path / "Post.java").write_text(JAVA)
    tenant = make_tenant()
    command: list[str | Path] = [
        program("java"),
        tmp_path / "Post.java",
        f"{service.base_url}/api/submit",
        tenant.key,
        BODY,
    ]
    answers = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert answers == ["201", "201"]
    assert Submission.objects.filter(organization=tenant.organization).count() == 2


def test_curl__with_http2__posts_and_is_stored(service: Application) -> None:
    tenant = make_tenant()
    headers = ["-H", f"x-access-key: {tenant.key}", "-H", "Content-Type: application/json"]
    command: list[str | Path] = [
        program("curl"),
        "--silent",
        "--http2",
        "--data",
        BODY,
        *headers,
        f"{service.base_url}/api/submit",
    ]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    assert answer["success"] is True
    assert Submission.objects.filter(organization=tenant.organization).count() == 1
