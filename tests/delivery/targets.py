"""Where deliveries must never go: targets in every notation that an attacker may try.

`LITERALS` and `NAMES` are for the operator's settings of `POLICY`; what its own ranges stand for is in public space, so
that only the setting can protect them. `ADDRESSES` are what rebinding names lead to.
"""

import re

from checklist_operator.transport.addresses import AddressPolicy

POD, SERVICE, NODE, API_SERVER = "20.10.0.0/16", "2a0f:1:2::/108", "51.15.3.0/24", "34.7.8.9"

POLICY = AddressPolicy.parse(denied=",".join((POD, SERVICE, NODE, API_SERVER)))

LITERALS = re.findall(
    r"\S+",
    """
https://127.0.0.1/ https://127.1/ https://127.0.1/ https://127.255.255.254/ https://2130706433/ https://0x7f000001/
https://0x7f.0.0.1/ https://0X7F.1/ https://0177.0.0.1/ https://017700000001/ https://0177.0x0.0.1/ https://127.0.0.1./
https://127.000.000.001/ https://１２７.0.0.1/ https://127。0。0。1/ https://127.0.0.%31/ https://①②⑦.0.0.1/
https://%31%32%37.0.0.1/ https://0/ https://0.0.0.0/ https://0x0/ https://00000000000/ https://localhost/
https://LOCALHOST/ https://localhost./ https://a.localhost/ https://ⓛocalhost/ https://localhost.localdomain./
https://10.0.0.1/ https://10.1/ https://167772161/ https://012.0.0.1/ https://0xa.0.0.1/ https://172.16.0.1/
https://172.31.255.255/ https://2886729729/ https://192.168.0.1/ https://192.168.257/ https://3232235777/
https://0xc0a80101/ https://100.64.0.1/ https://100.127.255.255/ https://198.18.0.1/ https://198.19.255.255/
https://192.0.0.1/ https://192.0.0.170/ https://192.0.2.1/ https://198.51.100.1/ https://203.0.113.1/
https://192.88.99.1/ https://224.0.0.1/ https://239.255.255.250/ https://240.0.0.1/ https://255.255.255.255/
https://169.254.169.254/ https://169.254.169.254:80/ https://169.254.43518/ https://2852039166/ https://0xa9fea9fe/
https://0251.0376.0251.0376/ https://0xa9.0xfe.0xa9.0xfe/ https://169.254.170.2/ https://169.254.0.23/
https://100.100.100.200/ https://192.0.0.192/ https://168.63.129.16/ https://[fd00:ec2::254]/ https://[fd20:ce::254]/
https://[::]/ https://[::1]/ https://[0:0:0:0:0:0:0:1]/ https://[::127.0.0.1]/ https://[::10.0.0.1]/
https://[::ffff:127.0.0.1]/ https://[::FFFF:7F00:1]/ https://[0000:0000:0000:0000:0000:ffff:7f00:0001]/
https://[::ffff:10.0.0.1]/ https://[::ffff:a9fe:a9fe]/ https://[::ffff:168.63.129.16]/ https://[::ffff:0:127.0.0.1]/
https://[64:ff9b::127.0.0.1]/ https://[64:ff9b::a00:1]/ https://[64:ff9b::a9fe:a9fe]/ https://[64:ff9b:1::10.0.0.1]/
https://[2002:7f00:1::]/ https://[2002:a00:1::1]/ https://[2002:a9fe:a9fe::]/ https://[2001:0:53aa:64c:0:fbff:80ff:fffe]/
https://[2001::1]/ https://[2001:10::1]/ https://[2001:20::1]/ https://[2001:db8::1]/ https://[3fff::1]/ https://[100::1]/
https://[fe80::1]/ https://[fe80::1%25eth0]/ https://[fe80::1%25lo]/ https://[febf::1]/ https://[fec0::1]/
https://[fc00::1]/ https://[fd12:3456::1]/ https://[ff02::1]/ https://[ff02::1%251]/ https://[ff0e::1]/ https://[5f00::1]/
https://[4000::1]/ https://[::1/ https://[::1]x/ https://[127.0.0.1]/ https://[v1.x]/
https://20.10.3.4/ https://336200452/ https://[::ffff:20.10.3.4]/ https://51.15.3.77/ https://34.7.8.9/
https://34.7.8.9:6443/ https://[2a0f:1:2::a]/ https://[::ffff:2207:809]/
https://hooks@127.0.0.1/ https://ok.example@10.0.0.1/ https://user:pass@ok.example/ https://@ok.example/
https://127.0.0.1\\@ok.example/ https://127.0.0.1%2f@ok.example/ https://127.0.0.1:443@ok.example/
https://10.0.0.1:22/ https://10.0.0.1:2379/ https://10.0.0.1:10250/ https://10.0.0.1:65535/ https://ok.example:0/
https://ok.example:65536/ https://ok.example:-1/ https://ok.example:4e3/ https://ok.example:443:80/
http://ok.example/ ftp://ok.example/ file:///etc/passwd gopher://127.0.0.1:6379/_x //127.0.0.1/ https:127.0.0.1
https:///127.0.0.1/ https://ok.example,127.0.0.1/ https://a..example/ https://.example/ https://256.1.1.1/
https://1.2.3.4.5/ https://0x/ https://127.0.0.1.1/
https://kubernetes/ https://kubernetes./ https://kubernetes.default.svc/ https://kubernetes.default.svc./
https://kubernetes.default.svc.cluster.local/ https://KUBERNETES.default.SVC.cluster.local./ https://metadata/
https://metadata.google.internal/ https://metadata.google.internal./ https://printer.local/ https://redis/
https://instance-data.ec2.internal/ https://kubernetes.default.ｓｖｃ/
""",
)

NAMES = {
    "kubernetes.default": "10.96.0.1",
    "localtest.example": "127.0.0.1",
    "sixth.example": "::1",
    "mapped.example": "::ffff:127.0.0.1",
    "metadata.example": "169.254.169.254",
    "azure.example": "168.63.129.16",
    "translated.example": "64:ff9b::a00:1",
    "sixtofour.example": "2002:a00:1::",
    "teredo.example": "2001:0:53aa:64c::1",
    "linklocal.example": "fe80::1",
    "unique.example": "fd00::1",
    "multicast.example": "224.0.0.251",
    "pod.example": "20.10.200.1",
    "service.example": "2a0f:1:2::443",
    "node.example": "51.15.3.9",
    "apiserver.example": "34.7.8.9",
    "xn--bcher-kva.example": "10.0.0.7",
    "zürich.example": "192.168.1.1",
    "127.0.0.1.nip.example": "127.0.0.1",
    "under_score.example": "172.17.0.1",
}
"""Names that any configuration takes, and where they lead. Reached as each of `NOTATIONS`."""

NOTATIONS = ("https://{}/", "https://{}./", "https://{}:8443/x?y#z")

ADDRESSES = re.findall(
    r"\S+",
    """
127.0.0.2 127.9.9.9 0.0.0.0 10.0.0.1 10.255.0.9 100.64.7.7 100.100.100.200 169.254.169.254 169.254.170.2 172.16.4.4
172.31.0.1 192.0.0.192 192.0.2.5 192.88.99.1 192.168.1.1 198.18.0.9 198.51.100.3 203.0.113.8 224.0.0.1 239.1.1.1
240.1.1.1 255.255.255.255 168.63.129.16 20.10.9.9 51.15.3.4 34.7.8.9
::1 :: ::ffff:127.0.0.2 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::10.0.0.1 64:ff9b::a00:1 64:ff9b::7f00:1 100::1 2001::1
2001:db8::1 2002:a00:1:: 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 5f00::1 2a0f:1:2::9
""",
)
