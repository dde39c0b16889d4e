"""The transport of webhooks: when, with which signature, to which address, how fast. No Kubernetes in here.

`schedule` says when to try again, `signing` proves who sends, `addresses` says where a socket may go, `sender` makes
one transmission and returns an `outcome`, and `fairness` decides who may transmit now. Keeping attempts, claiming them
and surviving crashes is the business of the controllers above.
"""
