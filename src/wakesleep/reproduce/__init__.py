"""The paper's experiments: what they are, how their rows run, and the pages made of the results."""
