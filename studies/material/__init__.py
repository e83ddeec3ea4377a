"""What several studies are measured on."""
