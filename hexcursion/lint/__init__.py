"""The leak lint: what a planned or a written release gives away outside its mechanism."""
