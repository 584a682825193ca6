"""Columns that survey tools, election systems and panels add to answers; none of them is an item, by its name.

A table with a column per item may have such columns of whole numbers, which would be read as ranks or ratings of an
item. Whether a column is one is decided by its name alone, so that neither the list of items nor a refusal depends on
anyone's answers. Names that are as usual for items (``price``, ``education``, ``date``) are not listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from privrank_jax.data.errors import DataError, say
from privrank_jax.data.header import letters

_WORDS = """
id uid uuid guid userid username usernumber respondent respondentid respondentno responseid responseno participant
participantid participantcode prolificid prolificpid workerid assignmentid hitid panelid panelistid subject
subjectid caseid caseno casenumber sessionid sessioncode session studyid submissionid submitterid submittername
submittedby recordid recordnumber collectorid networkid deviceid simserial simid subscriberid phonenumber
instanceid metainstanceid formhubuuid rootuuid index parentindex row rowid rownumber rownames
token email emailaddress mail firstname lastname fullname recipientfirstname recipientlastname recipientemail
externalreference externaldatareference externaldata customdata1
age agegroup ageband agerange gender sex birthyear yearofbirth birthdate dateofbirth birthday dob zip zipcode
postcode postalcode plz ethnicity maritalstatus nationality
wave panelwave batch cohort seed randomseed condition treatment arm
finished progress completed complete status responsestatus validationstatus reviewstate isvalidated
lastpage startlanguage userlanguage language browser useragent device distributionchannel responsetype
submitdate startdate enddate datestamp datesubmitted datestarted datelastaction recordeddate
starttime endtime completiontime lastmodifiedtime submissiontime submissiondate timestamp datetime createdat
updatedat submittedat startedat completedat
duration durationinseconds interviewtime totaltime timespent elapsedtime responsetime
ip ipaddr ipaddress refurl referrer referrerurl referer locationlatitude locationlongitude latitude longitude lat
lon lng geolocation geopoint gps captcha consent attentioncheck honeypot
formversion version tags attachments attachmentspresent edits
typist enteredby interviewer enumerator coder remark remarks comment comments note notes
precinct precinctid precinctportion precinctname ballotstyle ballottype ballotid ballotnumber ballotstatus
castvoterecord cvr cvrnumber cvrid tabulator tabulatornum tabulatorid batchid imprintedid countinggroup pollingplace
voter voterid voternumber
undervote undervotes overvote overvotes skipped exhausted blank blanks
"""
_NAMES = frozenset(_WORDS.split())
_SERIES = re.compile(
    r"unnamed\d+|(group|question|page)time.*|(start|end|submit|recorded)date(utc)?.*|duration.*|"
    r".*(firstclick|lastclick|pagesubmit|clickcount)|q(recaptchascore|relevantid.*|ballotboxstuffing|duplicatescore|"
    r"totalduration|urlreferrer|language|terminateflag)"
)


def is_metadata(column: str) -> bool:
    """Whether a column has a usual name of facts on users, answers or ballots.

    >>> [is_metadata(name) for name in ("Duration (in seconds)", "_uuid", "Precinct", "Apples", "Price")]
    [True, True, True, False, False]
    """
    word = letters(column)
    return word in _NAMES or _SERIES.fullmatch(word) is not None


def check_no_metadata(name: str, columns: Sequence[str], user: str | None) -> None:
    """Raise :class:`DataError` where a column that would be ranked as an item has such a name.

    Args:
        name: of the file.
        columns: those that would be items, none of which was listed.
        user: column of users.
    """
    found = [column for column in columns if is_metadata(column)]
    if not found:
        return
    one = len(found) == 1
    them = "it" if one else "them"
    what = f"column {found[0]!r} does" if one else f"columns {', '.join(map(repr, found))} do"
    asked = (
        f". If {found[0]!r} says who ranked, say {say('user', found[0])}" if user is None else ""
    )
    raise DataError(
        f"{name}: by {'its name' if one else 'their names'}, {what} not hold ranks of an item, but would be ranked: "
        f"leave {them} out by {say('ignore', found)}, or list the {say('items')}, with {them} if people ranked "
        f"{them}{asked}"
    )
