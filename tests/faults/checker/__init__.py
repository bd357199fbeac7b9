"""The checker: a client, receivers and the database each say what they saw; the promises P1 to P5 compare them."""
