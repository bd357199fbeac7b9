"""The effects of a refused post: on the counts of addresses, and on the refusals that its owner sees."""

from django.utils.translation import gettext_noop

from config.api import ratelimit
from config.api.errors import ApiError, RateLimited, Suspended
from submissions.receiving.key_and_form import Owner
from submissions.receiving.parse_body import Post
from submissions.refusals.recorder import note_refusal

FORM_BLOCKED = gettext_noop(
    "The operator of this service has blocked this form. Its page in the dashboard shows the reason."
)
NOT_AVAILABLE = gettext_noop("This form is not available.")  # for visitors, who cannot change that
NOT_OPEN = gettext_noop("This form does not take submissions now.")  # likewise


def note_refused(
    post: Post,
    failure: ApiError,
    *,
    owner: Owner | None,
    usage: ratelimit.Usage | None,
    is_from_page: bool,
    is_for_visitors: bool,
) -> tuple[ApiError, ratelimit.Usage | None]:
    """
    Count a refusal against the address, unless it came from a server, and note it for the owner.

    Returns what to answer, and the hour to show: `usage`, the organization's if it was counted, or the address's.
    """
    if failure.status < 500 and not (usage and not is_from_page):
        address = ratelimit.count_address(post.request)
        usage = address if address.is_over else usage or address
        if address.is_over and not isinstance(failure, Suspended):  # which comes before every limit
            failure = address.refusal()
    if failure.status < 500:
        ratelimit.note_marks(usage)
    is_pages_hour = is_from_page and failure.reason == "hour"
    if isinstance(failure, RateLimited) and (is_for_visitors or is_pages_hour):
        failure.message = ratelimit.BUSY  # the sentence for servers names the hour's numbers
    note_refusal(
        post.request,
        failure,
        organization_id=owner.organization.pk if owner else None,
        form_id=post.form_id if owner is None else owner.form.pk if owner.form else None,
        key_id=owner.key.id if owner and owner.key else None,
        shown_key=post.key_in_body,
    )
    return failure, usage
