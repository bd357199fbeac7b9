"""Public ids against TypeID's official vectors (https://github.com/jetify-com/typeid/tree/main/spec) and properties."""

import datetime as dt
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.base.ids import InvalidId, Prefix, decode_id, encode_id, made_at, new_id, suffix

no_deadline = settings(deadline=None)  # a busy machine is not a slow function
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIXES = ["org", "frm", "imp", "sub", "key", "upl", "whk", "dlv", "dst"]

official_vectors = pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00000000000000000000000000", "00000000-0000-0000-0000-000000000000"),
        ("00000000000000000000000001", "00000000-0000-0000-0000-000000000001"),
        ("0000000000000000000000000a", "00000000-0000-0000-0000-00000000000a"),
        ("0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"),
        ("00000000000000000000000010", "00000000-0000-0000-0000-000000000020"),
        ("7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        ("0123456789abcdefghjkmnpqrs", "0110c853-1d09-52d8-d73e-1194e95b5f19"),
        ("01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"),
    ],
)


@official_vectors
def test_encode_id__official_vector__is_its_text(text: str, value: str) -> None:
    assert suffix(uuid.UUID(value)) == text
    assert encode_id("frm", uuid.UUID(value)) == f"frm_{text}"


@official_vectors
def test_decode_id__official_vector__is_its_uuid(text: str, value: str) -> None:
    assert decode_id("frm", f"frm_{text}") == uuid.UUID(value)


@no_deadline
@given(st.sampled_from(PREFIXES), st.uuids())
def test_decode_id__of_any_encoded_id__is_the_uuid_again(prefix: str, value: uuid.UUID) -> None:
    assert decode_id(prefix, encode_id(prefix, value)) == value


@no_deadline
@given(st.sampled_from("01234567"), st.text(ALPHABET, min_size=25, max_size=25))
def test_encode_id__of_any_decoded_text__is_the_text_again(first: str, rest: str) -> None:
    text = f"sub_{first}{rest}"
    assert encode_id("sub", decode_id("sub", text)) == text


@no_deadline
@given(st.uuids(), st.uuids())
def test_encode_id__of_two_uuids__sorts_as_they_do(one: uuid.UUID, other: uuid.UUID) -> None:
    assert (encode_id("sub", one) < encode_id("sub", other)) is (one < other)


def test_prefixes__of_all_kinds__are_those_of_the_contract() -> None:
    kinds = [value for name, value in vars(Prefix).items() if name.isupper()]
    assert sorted(kinds) == sorted(PREFIXES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "frm",
        "frm_",
        "01h455vb4pex5vsknk084sn02q",
        "_01h455vb4pex5vsknk084sn02q",
        "key_01h455vb4pex5vsknk084sn02q",
        "FRM_01h455vb4pex5vsknk084sn02q",
        "frm_01H455VB4PEX5VSKNK084SN02Q",
        "frm_01h455vb4pex5vsknk084sn02",
        "frm_01h455vb4pex5vsknk084sn02qq",
        "frm_81h455vb4pex5vsknk084sn02q",  # 129 bits
        "frm_zzzzzzzzzzzzzzzzzzzzzzzzzz",
        "frm_01h455vb4pex5vsknk084sn02i",
        "frm_01h455vb4pex5vsknk084sn02l",
        "frm_01h455vb4pex5vsknk084sn02o",
        "frm_01h455vb4pex5vsknk084sn02u",
        "frm_01h455vb-pex5vsknk084sn02q",
        "frm__1h455vb4pex5vsknk084sn02q",
        "frm_01890a5d-ac96-774b-bcce-b302099a8057",
        "frm_01h455vb4pex5vsknk084sn02q ",
        " frm_01h455vb4pex5vsknk084sn02q",
        "frm_01h455vb4pex5vsknk084sn02q\n",
        "frm_\N{ARABIC-INDIC DIGIT ZERO}1h455vb4pex5vsknk084sn02q",
        None,
        5,
        ["frm_01h455vb4pex5vsknk084sn02q"],
    ],
)
def test_decode_id__malformed__says_what_one_looks_like(text: object) -> None:
    with pytest.raises(InvalidId, match="begins with frm_ and has 26 characters"):
        decode_id("frm", text)


@no_deadline
@given(st.text())
def test_decode_id__any_other_text__raises_nothing_but_invalid_id(text: str) -> None:
    for candidate in (text, f"frm_{text}"):
        with pytest.raises(InvalidId):
            decode_id("frm", candidate)


def test_new_id__many__are_uuid7_of_now_in_order() -> None:
    start = dt.datetime.now(dt.UTC) - dt.timedelta(milliseconds=1)
    made = [new_id() for _ in range(1000)]
    end = dt.datetime.now(dt.UTC)
    assert {(one.version, one.variant) for one in made} == {(7, uuid.RFC_4122)}
    assert made == sorted(set(made))
    assert all(start <= made_at(one) <= end for one in made)


def test_made_at__rfc_example__is_its_moment() -> None:
    """RFC 9562, appendix A.6."""
    moment = made_at(uuid.UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"))
    assert moment == dt.datetime(2022, 2, 22, 19, 22, 22, tzinfo=dt.UTC)
