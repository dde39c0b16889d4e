"""The pictures of README and docs/, taken of the real pages: a checklist on a phone, and pages of the dashboard."""
