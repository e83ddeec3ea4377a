"""What strangers may have written, made harmless: text, JSON and Parquet within bounds."""
