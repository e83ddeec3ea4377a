"""Files as strangers hand them in: recognised, opened within limits, streamed as text."""
