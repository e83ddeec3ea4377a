"""What several benchmarks are measured on."""
