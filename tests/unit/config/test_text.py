"""Names hold no web address, because they are shown in mails to strangers."""

import pytest

from config.base.text import holds_web_address, name_for_strangers, refuse_web_address


@pytest.mark.parametrize(
    "name",
    [
        *(
            "https://evil.example/claim",
            "YOU WON - claim at evil.example/claim",
            "evil.com",
            "Evil.CoM",
            "a.io",
            "x1.de",
        ),
        *("ftp://x", "www.evil", "WWW.evil", "b\u00fccher.example", "evil\u3002com", "evil\uff0ecom", "пример.рф"),
        *("ada@example.com", "see evil.xyz now", "(evil.com)"),
        *("evil.\u092d\u093e\u0930\u0924", "cafe\u0301.com", "evil\u00ad.com", "evil.c\u200dom", "w\u00adww.evil"),
    ],
)
def test_name__with_a_web_address__is_refused(name: str) -> None:
    assert holds_web_address(name)
    with pytest.raises(ValueError, match="cannot hold a web address"):
        refuse_web_address(name)
    assert name_for_strangers(name, "an organization") == "an organization"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Acme",
            "Acme Inc.",
            "Acme, Inc. & Sons",
            "Ruderclub e.V.",
            "A.B.C.",
            "Küche & Söhne",
            "St. Gallen",
            "3.5 GmbH",
        ),
        *("Wait... what", "C++ / C#", "Второй", "", "Version 2.0", "www", "Dr. Ada Lovelace"),
    ],
)
def test_name__without_a_web_address__is_accepted(name: str) -> None:
    refuse_web_address(name)
    assert name_for_strangers(name, "an organization") == name
