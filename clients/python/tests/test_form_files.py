"""Files of forms: every document comes back from YAML as it was."""

from pathlib import Path

import pytest

from fieldpost.cli.form_files import body_of, new_file, read, write

SCHEMA = "https://forms.example/form.schema.json"
TEXTS = [
    *("", " ", "yes", "No", "null", "~", "1.50", "2026-01-31", "0x1F", "1e3", "!tag", "&a", "*a", "a: b", "# a", "- a"),
    *(
        "a\nb",
        "a\nb\n",
        "a\n\nb\n\n",
        "\na\n",
        " a\nb",
        "a \nb",
        "a\n  b\n",
        "# a\nb",
        "a\n# b",
        "a\n\tb",
        "\n",
        "\n\n",
    ),
    *(
        "--- \na",
        "...\n",
        "a\n---\nb",
        "%YAML 1.1\na",
        "a\u2028b\nc",
        "a\u0085b\nc",
        "a\u200eb\nc",
        "\ufeffa\nb",
        "a\u00a0\nb",
    ),
    *(
        "\U0001f389\nb",
        "\u0645\u0631\u062d\u0628\u0627\nb",
        "{a}\n[b]",
        "'a'\n\"b\"",
        "a\\n\nb",
        "${NAME}",
        "=",
        "<<",
        "a:\n",
        "? a\nb",
    ),
    "a " * 3000,
]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_document__of_any_text__comes_back_as_it_was(text: str, tmp_path: Path) -> None:
    document = {
        "key": "contact",
        "name": text,
        "fields": [{"name": text, "options": [text, text], "help": text, "required": False}],
        "spam": {"minSeconds": 2, "secret": {"hint": "…last"}, "blockedWords": [text]},
        "retentionDays": None,
    }
    path = tmp_path / "contact.yaml"

    write(path, new_file(document), SCHEMA)

    assert body_of(path, read(path)) == {**document, "spam": {"minSeconds": 2, "blockedWords": [text]}}
    assert path.read_text(encoding="utf-8").count("# yaml-language-server") == 1


def test_write__text_of_several_lines__is_a_block(tmp_path: Path) -> None:
    path = tmp_path / "contact.yaml"

    write(path, new_file({"description": "Hello\n\nSoon.\n", "spam": {}}), SCHEMA)

    assert "description: |\n  Hello\n\n  Soon.\n" in path.read_text()
