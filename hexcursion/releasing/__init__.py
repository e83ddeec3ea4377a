"""The release: plan, receipt, the one draw, and the record of the release."""
