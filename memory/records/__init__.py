"""The log of everything that replicates: immutable records, their clock, and what each says."""
