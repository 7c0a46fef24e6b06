"""Missing cells, drawn given the observed ones."""
