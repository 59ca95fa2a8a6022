"""What every room speaks of: the nouns, their JSON, their words, the failures."""
