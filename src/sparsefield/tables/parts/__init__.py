"""Tables larger than memory, counted part by part."""
