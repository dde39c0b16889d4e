"""One controller for each concern: it is shown objects (`observe`) and makes what should be so, so."""
