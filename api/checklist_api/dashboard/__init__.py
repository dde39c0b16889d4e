"""The creator's dashboard, server side: who is signed in, what a role may do, and the routes of its pages."""
