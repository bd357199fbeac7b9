"""Files in the dashboard: the list, a submission, previews, the ZIP, and what deleting says about them."""

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.utils.html import escape
from PIL import Image

from config.base.ids import Prefix, encode_id
from forms_app.actions import archive_form
from forms_app.models import Form
from keys.models import AuditEvent
from submissions.models import StoredFile
from tests.load.slow_peers import slow_peers, status_of
from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, markup_of, person_of, place, text_of
from tests.support.files.rows import PDF, Sent, file_field, picture, put_with_files
from tests.support.posted_files import PDF as POSTED
from tests.support.posted_files import files_of_form, post_files
from tests.support.replies import unknown_id
from tests.support.rows import fill, put
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

HOSTILE = "<img src=x onerror=alert(1)>\"'&.png"


@pytest.fixture
def form(tenant: Tenant) -> str:
    return tenant.form(name="Apply", fields=[file_field("cv", label="Your CV"), file_field("photos", maxFiles=9)])


def test_submission__with_files__shows_each_with_its_size_type_digest_and_link(
    tenant: Tenant, form: str, member: Browser
) -> None:
    made = put_with_files(tenant, form, [Sent(content=b"x" * 12_700, scan="clean"), picture(HOSTILE, field="photos")])
    page = member.get(place(tenant, f"submissions/{made.public_id}"))
    shown = text_of(page)
    pdf, photo = made.files
    assert "Your CV · 12.4 KiB · application/pdf Clean" in shown
    assert f"Photos · {photo.size} B · image/png" in shown
    assert {pdf.sha256, photo.sha256} <= set(shown.split())
    assert f'href="{photo.url}" download' in markup_of(page)
    preview = place(tenant, f"files/{photo.public_id}/preview")
    assert markup_of(page).count(f'src="{preview}"') == 1
    assert pdf.public_id + "/preview" not in page.text
    assert "onerror=alert(1)>" not in markup_of(page)


def test_submission__with_more_pictures_than_a_page_draws__links_the_others(
    tenant: Tenant, form: str, member: Browser
) -> None:
    made = put_with_files(tenant, form, [picture(f"{n}.png", field="photos") for n in range(6)])
    page = markup_of(member.get(place(tenant, f"submissions/{made.public_id}")))
    drawn = [f'src="{place(tenant, f"files/{file.public_id}/preview")}"' in page for file in made.files]
    assert drawn == [True] * 4 + [False] * 2
    assert page.count('/preview"') == 4 * 2 + 2


@pytest.mark.parametrize(
    ("scan", "said"),
    first_on_both(
        [
            ("infected", "Withheld: the virus scanner found it infected."),
            ("pending", "Withheld until the virus scanner has read it."),
        ]
    ),
)
def test_withheld_file__in_the_dashboard__is_named_without_preview_and_download(
    tenant: Tenant, form: str, member: Browser, scan: str, said: str
) -> None:
    made = put_with_files(tenant, form, [picture(field="photos", scan=scan)])
    [file] = made.files
    page = member.get(place(tenant, f"submissions/{made.public_id}"))
    assert said in text_of(page)
    assert file.url not in page.text
    preview = place(tenant, f"files/{file.public_id}/preview")
    assert preview not in page.text
    answer = member.get(preview)
    assert (answer.status, answer.headers["Cache-Control"]) == (403, "no-store")


def test_list__of_submissions__names_files_at_a_paper_clip(tenant: Tenant, form: str, member: Browser) -> None:
    made = put_with_files(tenant, form, [Sent(), picture(HOSTILE, field="photos")])
    put(tenant, form, {"cv": ""})
    for query in (f"?form={form}", "", f"?row={made.public_id}"):
        page = member.get(place(tenant, f"submissions{query}"))
        assert markup_of(page).count("#paperclip") == 1
        assert f'role="img" title="Files: cv.pdf, {escape(HOSTILE)}"' in markup_of(page)
        assert "<img src=x" not in markup_of(page)
    assert made.public_id in member.get(place(tenant, "submissions?q=cv.pdf")).text


@pytest.mark.on_sqlite
def test_preview__of_a_picture__is_encoded_by_us_and_kept_by_the_browser_alone(
    tenant: Tenant, form: str, member: Browser
) -> None:
    sent = picture(field="photos", size=(3200, 200))
    [file] = put_with_files(tenant, form, [sent]).files
    answer = member.get(place(tenant, f"files/{file.public_id}/preview"))
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "image/webp"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "private, max-age=3600"
    found = Image.open(io.BytesIO(answer.body))
    assert (found.format, found.size) == ("WEBP", (1600, 100))
    assert sent.content not in answer.body


def test_preview__of_what_is_none_or_of_others__is_404(api: Client, tenant: Tenant, form: str, member: Browser) -> None:
    broken = picture("broken.png", field="photos")
    fakes = [
        Sent(),
        Sent("fake.png", PDF, "photos", "image/png"),
        Sent("cut.png", broken.content[:60], "photos", "image/png"),
        picture("gone.png", field="photos", is_kept=False),
        Sent("logo.svg", b"<svg/>", "photos", "image/svg+xml"),
        picture("removed.png", field="photos"),
    ]
    files = put_with_files(tenant, form, fakes).files
    StoredFile.objects.filter(pk=files[-1].pk).update(removed_at=files[-1].stored_at)
    ids = [file.public_id for file in files] + [unknown_id("upl"), "upl_nonsense", form]
    assert {member.get(place(tenant, f"files/{pk}/preview")).status for pk in ids} == {404}
    [mine] = put_with_files(tenant, form, [picture(field="photos")]).files
    other = make_tenant()
    stranger = logged_in(api, person_of(other))
    for owner in (tenant, other):
        assert stranger.get(place(owner, f"files/{mine.public_id}/preview")).status == 404
    assert api.get(place(tenant, f"files/{mine.public_id}/preview")).status == 302


@pytest.mark.on_sqlite
def test_preview__many_at_once__are_refused_beyond_a_few(tenant: Tenant, form: str, member: Browser) -> None:
    [file] = put_with_files(tenant, form, [picture(field="photos", size=(4900, 4900))]).files
    path = place(tenant, f"files/{file.public_id}/preview")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: member.api.get(path, headers=member.headers()), range(8)))
    statuses = [answer.status for answer in answers]
    assert set(statuses) == {200, 503}
    assert {answer.headers["Retry-After"] for answer in answers if answer.status == 503} == {"5"}
    assert member.get(path).status == 200


def test_zip__of_a_form__has_the_files_that_the_filters_select_and_is_recorded(
    tenant: Tenant, form: str, member: Browser
) -> None:
    made = put_with_files(tenant, form, [Sent(), Sent("ill.pdf", scan="infected")])
    put_with_files(tenant, form, [Sent("spam.pdf")], spam=True)
    put_with_files(tenant, tenant.default_form_id, [Sent("elsewhere.pdf")])
    page = place(tenant, f"submissions/export?form={form}")
    assert "2 files" in text_of(member.get(page))
    answer = member.post(place(tenant, "submissions/export/files"), form=page, form_=form)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/zip")
    day = f"{made.created_at:%Y-%m-%d}"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="apply-files-')
    assert answer.headers["Cache-Control"] == "no-store"
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    assert archive.namelist() == [f"{day} {made.public_id}/cv.pdf", "withheld.txt"]
    assert archive.read(archive.namelist()[0]) == PDF
    assert f"{day} {made.public_id}/ill.pdf" in archive.read("withheld.txt").decode()
    event = AuditEvent.objects.filter(organization=tenant.organization, action="submissions.exported").get()
    assert (event.subject, event.changes) == ("zip", {"form": [None, form]})


def test_file__posted_by_a_visitor__is_listed_downloaded_and_in_the_zip(
    api: Client, tenant: Tenant, form: str, member: Browser
) -> None:
    assert post_files(api, form, [("cv", "Ada.pdf", POSTED)]).status == 201
    [file] = files_of_form(form)
    assert "Files: Ada.pdf" in markup_of(member.get(place(tenant, f"submissions?form={form}")))
    assert file.submission_id
    page = member.get(place(tenant, f"submissions/{encode_id(Prefix.SUBMISSION, file.submission_id)}"))
    assert f'href="{file.url}" download' in markup_of(page)
    downloaded = member.get(f"/files/{file.public_id}")
    assert (downloaded.status, downloaded.body) == (200, POSTED)
    page_of_exports = place(tenant, f"submissions/export?form={form}")
    answer = member.post(place(tenant, "submissions/export/files"), form=page_of_exports, form_=form)
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    assert [archive.read(name) for name in archive.namelist()] == [POSTED]


def test_zip__while_two_exports_of_the_organization_run__is_refused(
    service: Application, tenant: Tenant, form: str, member: Browser
) -> None:
    put_with_files(tenant, form, [Sent()])
    fill(tenant, megabytes=8)
    page = place(tenant, "submissions/export")
    with slow_peers(service.port) as peers:
        assert {status_of(connection) for connection in peers.exports(2, tenant.key)} == {200}
        answer = member.post(f"{page}/files", form=page)
    assert (answer.status, "runs 2 exports already" in text_of(answer)) == (429, True)


def test_exports__without_files__offer_no_zip(tenant: Tenant, member: Browser) -> None:
    put(tenant, tenant.default_form_id, {"a": "1"})
    assert "ZIP" not in text_of(member.get(place(tenant, "submissions/export")))


def test_deleting__submissions_with_files__says_how_many(tenant: Tenant, form: str, member: Browser) -> None:
    ids = [put_with_files(tenant, form, [Sent(), Sent("b.pdf")]).public_id for _ in range(2)]
    ids.append(put(tenant, form, {"cv": ""}))
    listed, act = place(tenant, f"submissions?form={form}"), place(tenant, "submissions/act")
    asked = member.post(act, form=listed, do="delete", id=ids)
    assert "Delete 3 submissions permanently?" in text_of(asked)
    assert "4 files are deleted with them." in text_of(asked)
    everything = {"do": "delete", "id": ids, "newest": ids[-1], "rows": "3", "all": "on", "form_": form}
    assert "4 files are deleted with them." in text_of(member.post(act, form=listed, **everything))
    plain = member.post(act, form=listed, do="delete", id=ids[-1:])
    assert "deleted with them" not in text_of(plain)


def test_erasing__form_with_files__says_how_many(tenant: Tenant, form: str, owner: Browser) -> None:
    put_with_files(tenant, form, [Sent()])
    archive_form(Form.objects.get(name="Apply", organization=tenant.organization))
    assert "1 file of these submissions is erased, too." in text_of(owner.get(place(tenant, f"forms/{form}/erase")))
