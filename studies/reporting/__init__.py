"""What a study returns and what is made of it: tables, figures, findings in words."""
