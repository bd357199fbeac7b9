"""Files of settings, read as systemd reads an EnvironmentFile, and secrets in files (docs/contract.md 8.4)."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment.env_file import read_env_file, take_env_file
from config.environment.variables import SECRETS, read_environment, with_secrets

URL = "postgres://me:p%40ss@db.example:5432/forms?sslmode=verify-full&sslrootcert=/etc/my ca.pem"


def written(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "fieldpost.env"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


@pytest.mark.parametrize(
    ("written_value", "read"),
    [
        (URL, URL),
        (f"'{URL}'", URL),
        (f'"{URL}"', URL),
        (f"  {URL} \t", URL),
        ("a;b|c>d(e)`f`$g ${h} !i *", "a;b|c>d(e)`f`$g ${h} !i *"),
        ("half # no comment", "half # no comment"),
        ("$first", "$first"),
        ('it\'s "quoted" inside', 'it\'s "quoted" inside'),
        ('"it\'s"', "it's"),
        ("'say \"yes\" \\n'", 'say "yes" \\n'),
        ('"a\\"b\\\\c\\$d\\ne"', 'a"b\\c$d\\ne'),
        ("'one' \"two\"three", "onetwothree"),
        (r"a\\b\ c", "a\\b c"),
        ("a=b=c==", "a=b=c=="),
        ("", ""),
        ("''", ""),
        ("Größe 😀", "Größe 😀"),
    ],
)
def test_value__of_any_text__is_read_as_systemd_does(tmp_path: Path, written_value: str, read: str) -> None:
    assert read_env_file(written(tmp_path, f"NAME={written_value}\nNEXT=1\n")) == {"NAME": read, "NEXT": "1"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\N{BYTE ORDER MARK}"])
def test_lines__of_any_editor__are_read_without_comments(tmp_path: Path, start: str, end: str) -> None:
    lines = [f"{start}ONE=1&2", "# TWO=2", "  ; THREE=3", "", "  FOUR = 4", "export FIVE=5", "SIX"]
    assert read_env_file(written(tmp_path, end.join(lines))) == {"ONE": "1&2", "FOUR": "4", "FIVE": "5"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nhunter 2", "line 2: write it as NAME=value."),
        ("A-B=hunter", "line 1: write it as NAME=value."),
        ("A='hunter", "line 1: a quote is not closed, or a backslash is at the end"),
        ('A="hunter\\"', "line 1: a quote is not closed"),
        ("A=hunter\\\nB=2", "line 1: a quote is not closed, or a backslash is at the end"),
        (b"A=\xff", "is not UTF-8 text."),
    ],
)
def test_file__that_could_be_read_in_two_ways__is_refused_without_its_values(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read_env_file(written(tmp_path, text))
    assert message in str(caught.value)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("joined", [True, False])
def test_command_line__with_a_file__gets_its_variables_and_loses_the_option(tmp_path: Path, joined: bool) -> None:
    file = written(tmp_path, f"DATABASE_URL={URL}")
    environment = {"DATABASE_URL": "postgres://another", "KEPT": "1"}
    option = [f"--env-file={file}"] if joined else ["--env-file", str(file)]
    assert take_env_file(["manage.py", *option, "check", "--deploy"], environment) == ["manage.py", "check", "--deploy"]
    assert environment == {"DATABASE_URL": URL, "KEPT": "1"}


def test_command_line__without_the_option__is_left_as_it_is() -> None:
    for line in (["manage.py"], ["manage.py", "check"], ["manage.py", "check", "--env-file", "x"]):
        assert take_env_file(line, {}) == line


@pytest.mark.parametrize("line", [["manage.py", "--env-file"], ["manage.py", "--env-file="]])
def test_command_line__with_the_option_and_no_file__says_so(line: list[str]) -> None:
    with pytest.raises(ImproperlyConfigured, match="needs a file"):
        take_env_file(line, {})


def test_secret__in_a_file__is_its_content_without_the_end_of_the_line(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    for name in SECRETS:
        file.write_text(f" {name}'s = secret \n\n")
        assert with_secrets({f"{name}_FILE": str(file), name: ""})[name] == f" {name}'s = secret "


def test_secret__given_twice_or_in_no_file__is_an_error_without_it(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL and EMAIL_URL_FILE are both set") as caught:
        with_secrets({"EMAIL_URL": "smtp://hunter", "EMAIL_URL_FILE": "/x"})
    assert "hunter" not in str(caught.value)
    with pytest.raises(ImproperlyConfigured, match=f"REDIS_URL_FILE: {tmp_path}/no cannot be read: No such file"):
        with_secrets({"REDIS_URL_FILE": f"{tmp_path}/no"})


def test_environment__value_with_a_dollar__is_no_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "$HOME\\$x$")
    monkeypatch.setenv("OF_BOTH", "process")
    monkeypatch.delenv("OF_FILE", raising=False)
    env = read_environment(written(tmp_path, "OF_BOTH=file\nOF_FILE=$file,b"))
    assert env.str("SECRET_KEY") == "$HOME\\$x$"
    assert (env.str("OF_BOTH"), env.list("OF_FILE")) == ("process", ["$file", "b"])


def test_environment__without_the_file__is_that_of_the_process(tmp_path: Path) -> None:
    assert read_environment(tmp_path / "none").str("NOT_THERE", default="x") == "x"
