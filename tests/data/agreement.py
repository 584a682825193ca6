"""What both readers are asked, until the old one goes."""

from __future__ import annotations

FIELDS = ("item_names", "user_names", "notes", "reading", "remarks", "public", "name")


def said(read, *arguments, **options):
    try:
        return read(*arguments, **options), None
    except ValueError as error:
        return None, str(error)
