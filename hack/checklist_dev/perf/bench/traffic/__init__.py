"""What one kind of traffic costs everybody else: photos, viewers, large templates, the executor app."""
