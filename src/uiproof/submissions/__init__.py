"""Results as files that others can check and rank: write, check, rank."""

from uiproof.submissions.checking import check_submission
from uiproof.submissions.ranking import rank_submissions
from uiproof.submissions.writing import write_submission

__all__ = ["check_submission", "rank_submissions", "write_submission"]
