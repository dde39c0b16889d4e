"""Static HTML and built files of the web surfaces, and the addresses that app stores ask for."""
