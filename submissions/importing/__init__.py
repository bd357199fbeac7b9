"""Old submissions from elsewhere (docs/contract.md 5.80)."""
