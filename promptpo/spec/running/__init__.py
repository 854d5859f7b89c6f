"""The live environment behind a spec: made, reset, stepped, and told of when it fails."""
