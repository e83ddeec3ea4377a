"""Results of studies: tables, figures, findings in words."""
