"""The leak lint: what a planned or a written release gives away beside its mechanism."""
