"""Last in the suite by its name: how much of forms.js the tests before it ran."""

import pytest

from tests.browser.coverage import BranchCoverage

LEAST_PERCENT = 90


def test_branches_of_forms_js__over_this_session__were_taken(
    coverage: BranchCoverage, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():  # the figure is worth reading when it is good, too
        print(
            f"\nforms.js: {coverage.percent:.1f} % of {len(coverage.taken)} branches; not taken: {coverage.missing()}"
        )
    assert coverage.percent >= LEAST_PERCENT, coverage.missing()
