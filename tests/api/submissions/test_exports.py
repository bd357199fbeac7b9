"""`GET /api/submissions/export`: the contents of the three formats (docs/contract.md 5.26 to 5.29, RFC 4180)."""

import datetime as dt
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from config.base.ids import Prefix
from tests.services.client import Answer, Client
from tests.support.replies import unknown_id
from tests.support.rows import put, record_of, row
from tests.support.submitting import submit_and_get_record
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field

MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "ndjson": "application/x-ndjson"}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def export(api: Client, tenant: Tenant, **query: str) -> Answer:
    answer = api.get(f"/api/submissions/export?{urlencode(query)}", tenant.key)
    assert answer.status == 200, answer.text
    return answer


def lines(answer: Answer) -> list[str]:
    """Return the lines of a CSV whose cells hold no line break."""
    text = answer.body.decode("utf-8")
    assert text.startswith("\ufeff")
    assert text.endswith("\r\n")
    return text.removeprefix("\ufeff").removesuffix("\r\n").split("\r\n")


def test_csv__declared_and_other_fields__are_columns_in_order(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[{**text_field(name), "required": False} for name in ("second", "first")])
    one = submit_and_get_record(api, tenant, form, {"zeta": "z1", "first": "f1"})
    two = submit_and_get_record(api, tenant, form, {"alpha": "a2", "second": "s2", "zeta": "z2"})
    assert lines(export(api, tenant, formId=form)) == [
        "id,formId,createdAt,second,first,zeta,alpha",
        f"{one['id']},{form},{one['createdAt']},,f1,z1,",
        f"{two['id']},{form},{two['createdAt']},s2,,z2,a2",
    ]


def test_csv__nothing_received__is_the_header(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[{**text_field("name"), "required": False}])
    assert export(api, tenant, formId=form).body == b"\xef\xbb\xbfid,formId,createdAt,name\r\n"
    assert export(api, make_tenant()).body == b"\xef\xbb\xbfid,formId,createdAt\r\n"


def test_csv__commas_quotes_line_breaks__are_quoted_as_rfc_4180_says(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    values = {"comma": "a,b", 'say "hi"': 'she said "no"', "lines": "one\r\ntwo\nthree", "plain": "Ünïcode ☃ 😀"}
    one = submit_and_get_record(api, tenant, form, values)
    assert export(api, tenant, formId=form).body.decode("utf-8") == (
        '\ufeffid,formId,createdAt,comma,"say ""hi""",lines,plain\r\n'
        f'{one["id"]},{form},{one["createdAt"]},"a,b","she said ""no""","one\r\ntwo\nthree",Ünïcode ☃ 😀\r\n'
    )


def test_csv__names_like_our_columns__are_told_apart(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[{**text_field("id"), "required": False}])
    one = submit_and_get_record(
        api, tenant, form, {"createdAt": "c", "_more": "m", "id": "i", "formId": "f", "data.x": "d"}
    )
    assert lines(export(api, tenant, formId=form)) == [
        "id,formId,createdAt,data.id,data.createdAt,data._more,data.formId,data.x",
        f"{one['id']},{form},{one['createdAt']},i,c,m,f,d",
    ]


def test_csv__more_than_500_other_names__rest_is_json_in_more(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[{**text_field("declared"), "required": False}])
    for start in (0, 200, 400):
        put(tenant, form, {f"n{number}": f"v{number}" for number in range(start, start + 200)})
    put(tenant, form, {"n501": "x,y", "declared": "d", "n0": "again", "ünï": "=1"})
    header, *_, third, fourth = lines(export(api, tenant, formId=form))
    names = [f"n{number}" for number in range(500)]
    assert header.split(",") == ["id", "formId", "createdAt", "declared", *names, "_more"]
    rest = {f"n{number}": f"v{number}" for number in range(500, 600)}
    assert third.endswith(',"' + json.dumps(rest, separators=(",", ":")).replace('"', '""') + '"')
    assert fourth.split(",")[3:5] == ["d", "again"]
    assert fourth.endswith(',"{""n501"":""x,y"",""ünï"":""=1""}"')


def test_csv__exactly_500_other_names__has_no_more(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    for start in (0, 250):
        put(tenant, form, {f"n{number}": "v" for number in range(start, start + 250)})
    header = lines(export(api, tenant, formId=form))[0].split(",")
    assert header == ["id", "formId", "createdAt", *(f"n{number}" for number in range(500))]


def test_columns__chosen__are_these_in_this_order_and_nothing_else(api: Client, tenant: Tenant) -> None:
    form = tenant.form(fields=[{**text_field("first"), "required": False}])
    one = submit_and_get_record(api, tenant, form, {"first": "f1", "zeta": "z1", "id": "i1", "x": "no"})
    two = submit_and_get_record(api, tenant, form, {"zeta": "z2"})
    chosen = "zeta,createdAt,first,nobody has it,data.id,id"
    assert lines(export(api, tenant, formId=form, columns=chosen)) == [
        chosen,
        f"z1,{one['createdAt']},f1,,i1,{one['id']}",
        f"z2,{two['createdAt']},,,,{two['id']}",
    ]


def test_columns__names_with_commas_accents_formulas__are_found(api: Client, tenant: Tenant) -> None:
    values = {"a,b": "comma", "Größe": "accent", "=1": "=2", "data.x": "dot", " c": "blank"}
    submit_and_get_record(api, tenant, tenant.default_form_id, values)
    chosen = ' c,"a,b",Gro\u0308ße,=1,data.x'
    assert lines(export(api, tenant, columns=chosen)) == [' c,"a,b",Größe,\'=1,data.x', "blank,comma,accent,'=2,dot"]


def test_columns__more__has_the_same_cells_as_without_them(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    for start in (0, 200, 400):
        put(tenant, form, {f"n{number}": "v" for number in range(start, start + 200)})
    whole = [line.split(",", 503)[503] for line in lines(export(api, tenant, formId=form))]
    assert whole[0] == "_more"
    chosen = lines(export(api, tenant, formId=form, columns="_more,n1"))
    assert chosen == [f"{cell},{n1}" for cell, n1 in zip(whole, ("n1", "v", "", ""), strict=True)]
    assert lines(export(api, make_tenant(), columns="_more")) == ["_more"]


@pytest.mark.parametrize(
    ("query", "code"),
    first_on_both(
        [
            ({"columns": ""}, "blank"),
            ({"columns": "a,,b"}, "blank"),
            ({"columns": "a,"}, "blank"),
            ({"columns": '"a'}, "invalid"),
            ({"columns": "a\nb"}, "invalid"),
            ({"columns": ",".join("a" * 1001)}, "too_many"),
            ({"columns": "m,m"}, "duplicate"),
            ({"columns": "m,id,data.m"}, "duplicate"),
            ({"columns": "Größe,Gro\u0308ße"}, "duplicate"),
            ({"columns": "id,data.id,id"}, "duplicate"),
            ({"columns": "id", "format": "json"}, "not_allowed"),
            ({"columns": "id", "format": "ndjson"}, "not_allowed"),
        ]
    ),
)
def test_columns__that_make_no_header__are_a_validation_error(
    api: Client, tenant: Tenant, query: dict[str, str], code: str
) -> None:
    answer = api.get(f"/api/submissions/export?{urlencode(query)}", tenant.key)
    assert answer.status == 400, answer.text
    assert [(detail["field"], detail["code"]) for detail in answer.json()["details"]] == [("columns", code)]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "\u00a0=1", "\u200b=1", "'=1", "   =1"])
def test_csv__cell_or_header_like_a_formula__gets_an_apostrophe(api: Client, tenant: Tenant, text: str) -> None:
    form = tenant.form()
    one = submit_and_get_record(api, tenant, form, {"plain": text, text: "1-1"})
    assert lines(export(api, tenant, formId=form)) == [
        f"id,formId,createdAt,plain,'{text}",
        f"{one['id']},{form},{one['createdAt']},'{text},1-1",
    ]


@pytest.mark.parametrize(("chosen", "media_type"), MEDIA_TYPES.items())
def test_export__each_format__has_its_type_and_file_name(
    api: Client, tenant: Tenant, chosen: str, media_type: str
) -> None:
    form = tenant.form(name="Größe & Co / Kontakt")
    answer = export(api, tenant, formId=form, format=chosen)
    day = dt.datetime.now(dt.UTC).date().isoformat()
    assert answer.headers["Content-Type"] == media_type
    assert answer.headers["Content-Disposition"] == f'attachment; filename="groe-co-kontakt-{day}.{chosen}"'
    whole = export(api, tenant, format=chosen).headers["Content-Disposition"]
    assert whole == f'attachment; filename="submissions-{day}.{chosen}"'


def test_export__no_format__is_csv(api: Client, tenant: Tenant) -> None:
    assert export(api, tenant).headers["Content-Type"] == MEDIA_TYPES["csv"]


def test_json_and_ndjson__records__are_those_of_the_list_oldest_first(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    records = [submit_and_get_record(api, tenant, form, {"n": str(n), "text": 'Ünïcode "☃"\r\n'}) for n in range(3)]
    assert export(api, tenant, formId=form, format="json").json() == records
    ndjson = export(api, tenant, formId=form, format="ndjson").body
    assert ndjson.endswith(b"\n")
    assert [json.loads(line) for line in ndjson.split(b"\n")[:-1]] == records


def test_json_and_ndjson__nothing_received__are_an_empty_array_and_nothing(api: Client, tenant: Tenant) -> None:
    assert export(api, tenant, format="json").json() == []
    assert export(api, tenant, format="ndjson").body == b""


def test_export__without_form__covers_the_organization_and_no_other(api: Client, tenant: Tenant) -> None:
    put(make_tenant(), make_tenant().form(), {"n": "foreign"})
    records = [submit_and_get_record(api, tenant, form, {"n": "1"}) for form in (tenant.form(), tenant.default_form_id)]
    assert export(api, tenant, format="json").json() == records
    assert [line.split(",")[1] for line in lines(export(api, tenant))[1:]] == [one["formId"] for one in records]


def test_export__archived_form__is_there(api: Client, tenant: Tenant) -> None:
    form = tenant.form()
    record = submit_and_get_record(api, tenant, form, {"n": "1"})
    api.delete(f"/api/forms/{form}", tenant.key)
    assert export(api, tenant, formId=form, format="json").json() == [record]


FILTERS: list[dict[str, str]] = [
    {},
    {"spam": "true"},
    {"spam": "all"},
    {"from": "2026-03-02"},
    {"to": "2026-03-02"},
    {"from": "2026-03-02", "to": "2026-03-02", "spam": "all"},
    {"q": "NEEDLE"},
    {"q": "absent"},
]


@pytest.mark.parametrize("query", FILTERS, ids=lambda query: urlencode(query) or "none")
def test_export__filters__rows_are_the_lists_total(api: Client, tenant: Tenant, query: dict[str, str]) -> None:
    form = tenant.form()
    for day in (1, 2, 3):
        at = dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC)
        put(tenant, form, {"text": f"needle {day}"}, at)
        put(tenant, form, {"text": f"thread {day}"}, at + dt.timedelta(hours=1), spam=day == 2)
    listed: Any = api.get(f"/api/submissions?{urlencode({**query, 'formId': form})}", tenant.key).json()
    exported = export(api, tenant, **query, formId=form, format="json").json()
    assert exported == listed["data"][::-1]
    assert len(exported) == listed["pagination"]["total"]
    assert len(lines(export(api, tenant, **query, formId=form))) - 1 == len(exported)
    assert len(export(api, tenant, **query, format="ndjson").text.splitlines()) == len(exported)


def test_export__of_rows_of_any_moment__shows_the_whole_record(api: Client, tenant: Tenant) -> None:
    made = row(tenant, tenant.form(), {"n": "1"}, dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, dt.UTC), spam=True)
    made.save(force_insert=True)
    assert export(api, tenant, format="json", spam="all").json() == [record_of(made)]


@pytest.mark.parametrize(
    ("query", "field"),
    first_on_both(
        [
            ("format=xlsx", "format"),
            ("format=CSV", "format"),
            ("format=", "format"),
            ("page=1", "page"),
            ("limit=5", "limit"),
            ("formId=frm_1", "formId"),
            ("from=2026-13-01", "from"),
            ("spam=maybe", "spam"),
            ("q=ab", "q"),
        ]
    ),
)
def test_export__unknown_or_malformed_parameter__validation_error(
    api: Client, tenant: Tenant, query: str, field: str
) -> None:
    answer = api.get(f"/api/submissions/export?{query}", tenant.key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in answer.json()["details"]] == [field]


def test_export__from_after_to__holds_nothing(api: Client, tenant: Tenant) -> None:
    put(tenant, tenant.default_form_id, {"n": "1"})
    query = {"from": "2999-03-02", "to": "1999-03-01", "format": "json"}
    assert export(api, tenant, **query).json() == []


def test_export__foreign_and_unknown_form__are_refused(api: Client, tenant: Tenant) -> None:
    foreign = api.get(f"/api/submissions/export?formId={make_tenant().form()}", tenant.key)
    assert (foreign.status, foreign.json()["error"]) == (403, "unauthorized")
    unknown = api.get(f"/api/submissions/export?formId={unknown_id(Prefix.FORM)}", tenant.key)
    assert (unknown.status, unknown.json()["error"]) == (404, "not_found")
