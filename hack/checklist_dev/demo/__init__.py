"""`make demo`: the main job of the service on real checklists, checked step by step."""
