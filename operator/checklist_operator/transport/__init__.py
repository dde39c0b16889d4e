"""Transport of webhooks, independent of Kubernetes.

`signing` signs requests, `addresses` decides where a socket may connect, `sender` makes one transmission and returns an
`outcome`, and `fairness` decides which transmission may start.
"""
