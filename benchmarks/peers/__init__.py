"""The same training step and the same likelihood evaluation, done by wakesleep and by others."""
