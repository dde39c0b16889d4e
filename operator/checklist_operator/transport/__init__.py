"""The transport of webhooks: with which signature, to which address, how fast. No Kubernetes in here.

`signing` proves who sends, `addresses` says where a socket may go, `sender` makes one transmission and returns an
`outcome`, and `fairness` decides who may transmit now.
"""
