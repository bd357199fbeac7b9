"""The tables of submissions."""

from submissions.models.counts import IdempotencyKey as IdempotencyKey
from submissions.models.counts import ReadingPosition as ReadingPosition
from submissions.models.counts import Refusal as Refusal
from submissions.models.counts import Tally as Tally
from submissions.models.counts import UsageDay as UsageDay
from submissions.models.files import StoredFile as StoredFile
from submissions.models.files import StoredFileQuerySet as StoredFileQuerySet
from submissions.models.imports import Import as Import
from submissions.models.imports import ImportedRow as ImportedRow
from submissions.models.imports import ImportFile as ImportFile
from submissions.models.imports import ImportFilePart as ImportFilePart
from submissions.models.submissions import Submission as Submission
from submissions.models.submissions import SubmissionQuerySet as SubmissionQuerySet
from submissions.models.submitters import Consent as Consent
from submissions.models.submitters import SubmitterMail as SubmitterMail
