"""Commands of ``oragent bench``, one file per benchmark."""
