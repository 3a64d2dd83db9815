"""How many answers a person must give, how fast the page is, and that it loses nothing."""
