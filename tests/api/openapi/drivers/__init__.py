"""Programs that drive generated clients; `test_generated_clients.py` runs them."""
