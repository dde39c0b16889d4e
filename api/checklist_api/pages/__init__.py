"""HTML pages and built files of the web surfaces, and app association files."""
