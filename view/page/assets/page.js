// The table of the story stays as it is.
