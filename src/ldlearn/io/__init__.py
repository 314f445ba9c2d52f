"""Tables in and out: a Source and a Sink per format, one column grammar, one atomic writer."""
