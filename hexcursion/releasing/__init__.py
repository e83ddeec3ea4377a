"""The release: plan, receipt, the one draw, and the record of what was released."""
