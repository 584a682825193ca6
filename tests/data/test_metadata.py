"""Columns of survey tools and election systems are no items, by their names."""

from __future__ import annotations

import pytest

from privrank_jax.data.errors import DataError
from privrank_jax.data.metadata import check_no_metadata, is_metadata

# As exports of these tools name them; columns of text are refused as no ranks anyway.
EXPORTS = {
    "limesurvey": "id submitdate lastpage startlanguage seed token startdate datestamp ipaddr refurl interviewtime "
    "groupTime12 questionTime7",
    "limesurvey in words": "Response ID|Date submitted|Last page|Start language|Seed|Date started|Date last action|"
    "IP address|Referrer URL|Total time|Group time: Fruit|Question time: Q1",
    "qualtrics": "StartDate|EndDate|Status|IPAddress|Progress|Duration (in seconds)|Finished|RecordedDate|ResponseId|"
    "RecipientLastName|RecipientFirstName|RecipientEmail|ExternalReference|LocationLatitude|LocationLongitude|"
    "DistributionChannel|UserLanguage|Q_RecaptchaScore|Q_RelevantIDDuplicate|Q3_First Click|Q3_Page Submit",
    "microsoft forms": "ID|Start time|Completion time|Email|Last modified time",
    "google forms": "Timestamp|Email Address|Username",
    "kobo": "_id|_uuid|_submission_time|_validation_status|_notes|_status|_submitted_by|_tags|_index|__version__|"
    "meta/instanceID|formhub/uuid|_geolocation|_attachments",
    "surveymonkey": "Respondent ID|Collector ID|Start Date|End Date|IP Address|Email Address|Custom Data 1",
    "es&s": "Cast Vote Record|Precinct|Ballot Style|Batch",
    "dominion": "CvrNumber|TabulatorNum|BatchId|RecordId|ImprintedId|CountingGroup|PrecinctPortion|BallotType",
    "panels": "wave|age|gender|zip|Birth year|PROLIFIC_PID|WorkerId|HITId|participant.code|session.code",
    "hands": "Typist|Remarks|Comments|entered by|Unnamed: 0|row_number",
    "ballots": "undervote|Overvotes|skipped|Exhausted",
}
NAMES = [
    (tool, name)
    for tool, line in EXPORTS.items()
    for name in (line.split("|") if "|" in line else line.split())
]
ITEMS = (
    "Ann|Tim|Phil|Apples|Oslo|Price|Quality|Education|Health|Income|Time|Date|Design|model_a|GPT-4o|Madison|"
    "Age_of_Empires|Statusquo|Agency|Sextant|Ziploc|Wavelet|rank_1|Q1|A2|V1|durian|Seedless|Progressives|Write In"
)


@pytest.mark.parametrize(("tool", "name"), NAMES)
def test_columns_of_tools(tool, name):
    assert is_metadata(name), tool
    assert is_metadata(name.upper())


@pytest.mark.parametrize("name", ITEMS.split("|"))
def test_items_are_none(name):
    assert not is_metadata(name)


def test_all_of_them_are_named():
    check_no_metadata("f.csv", ["Ann", "Bo"], None)
    for user, columns, named in (
        ("id", ["Ann", "age", "wave"], "--ignore age --ignore wave"),
        (None, ["id", "Bo"], "--user id"),
    ):
        with pytest.raises(DataError, match=named):
            check_no_metadata("f.csv", columns, user)
