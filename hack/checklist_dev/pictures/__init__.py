"""Pictures of the real pages for README and docs/: a checklist on a phone, and pages of the dashboard."""
