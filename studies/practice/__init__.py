"""What today's rules of disclosure control would publish of records, and what that tells of one of them."""
