"""One module a verb: parse, call the library, print. Nothing else happens here."""
