import json
import os
import random
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from checklist_crds.resources.internal_hosts import InternalHosts
from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_dev.failures import say
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder
from checklist_dev.web.node import find_node

PUBLISHED = json.loads((ROOT / "docs" / "webhook-vectors.json").read_text(encoding="utf-8"))["urls"]
CANONICAL = {pair["given"]: pair["canonical"] for pair in PUBLISHED} | {
    "https://example.com:08443/": "https://example.com:8443/",
    "https://XN--BCHER-KVA.example/": "https://xn--bcher-kva.example/",
    "https://b%C3%BCcher.example/": "https://xn--bcher-kva.example/",
    "https://example。com/": "https://example.com/",
    "https://[2606:4700:4700:0:0:0:0:1111]:443/": "https://[2606:4700:4700::1111]/",
    "https://[2606::A:0:0:B]:8443/": "https://[2606::a:0:0:b]:8443/",
    "https://[2606:0:1:0:2:0:3:0]/": "https://[2606:0:1:0:2:0:3:0]/",
    "https://[2606:1:2:3:4:5::]/": "https://[2606:1:2:3:4:5::]/",
    "https://[::ffff:8.8.8.8]/": "https://[::ffff:808:808]/",
    "https://example.com/a/.%2e/b": "https://example.com/b",
    "https://example.com/a/b/../c": "https://example.com/a/c",
    "https://8.8.65535/": "https://8.8.255.255/",
    "https://example.com//..//a": "https://example.com//a",
    "https://example.com/%25%34%31": "https://example.com/%2541",
} | {
    f"https://{address}/": "https://8.8.8.8/"
    for address in ["8.8.8.8.", "8.8.2056", "8.526344", "134744072", "0x08080808", "010.8.0x8.8", "８.８.８.８"]
}  # fmt: skip

OF_HOSTS = """
    https:///example.com/ https:// https://:443/ https://./ https://a..com/ https://.a.com/ https://example.com../
    https://exa%20mple.com/ https://exa%2fmple.com/ https://ex%ffample.com/ https://ex%61mple.com%00/
    https://ex*mple.com/ https://ex,mple.com/ https://xn--a.com/ https://xn--BCHER-kvb9999.com/ https://1a.אב/
    https://1.2.3.256/ https://1.2.3.4.5/ https://1.2.3.08/ https://0x1ffffffff/ https://4294967296/ https://foo.0x1/
    https://foo.99/ https://[::1/ https://[::1]a/ https://[]/ https://[1.2.3.4]/ https://[v1.x]/
    https://[fe80::1%eth0]/ https://[fe80::1%25eth0]/ https://[1::2::3]/
"""
INTERNAL = """
    https://receiver/ https://receiver./ https://localhost/ https://LOCALHOST./ https://%6c%6f%63%61lhost/
    https://a.localhost/ https://printer.local/ https://metadata.google.internal/ https://api.default.svc/
    https://api.default.svc.cluster.local./ https://ａｐｉ．ｄｅｆａｕｌｔ．ｓｖｃ/
"""
DENIED = """
    https://127.0.0.1/ https://2130706433/ https://0/ https://169.254.169.254/latest/meta-data/ https://224.0.0.1/
    https://[::1]/ https://[::]/ https://[::ffff:169.254.169.254]/ https://[fe80::1]/ https://[ff02::1]/
"""
REFUSED = {
    "invalid_url": [
        *["", "example.com", "//example.com/", "https:example.com", "https:/example.com", "mailto:a@example.com"],
        *["https://exa\nmple.com/", "https://example.com/\t", "https://example.com/\x00", "https://example.com/\ud800"],
    ],
    "insecure_scheme": [f"{scheme}://example.com/" for scheme in ("http", "ftp", "file", "gopher", "tps")],
    "user_info": [
        f"https://{user}/" for user in ["u@a.com", "u:p@a.com", "@a.com", "a.com@evil.com", "a.com:80@evil.com"]
    ],
    "invalid_host": [
        *OF_HOSTS.split(),
        *["https://exa mple.com/", "https://\u200d.com/", f"https://{'a' * 64}.com/", f"https://{'a.' * 126}com/"],
    ],
    "invalid_port": [
        "https://2606:4700::1111/",
        *(f"https://example.com:{port}/" for port in ("0", "65536", "x", "-1", "٤٤٣")),
    ],
    "invalid_escape": [f"https://example.com/{end}" for end in ("%", "%2", "%zz", "?q=100%")],
    "too_long": [f"https://example.com/{'a' * 2029}", f"https://example.com/{'ü' * 400}"],
    "internal_host": INTERNAL.split(),
    "denied_address": DENIED.split(),
}

ODD_PIECES = [
    *"/\\?&=#'\"<>[]{}|^`~ +:@;,!$()*azAZ09éü☃\u0080",
    *["%2e", "%2E", "%41", "%7e", "%27", "%c3%a9", "..", ".", "/./", "/../", "%2f", "%00", "%25", "%5c", "//"],
]
ODD_HOSTS = ["example.com", "BÜCHER.example.", "a_b.example", "例え.テスト", "8.8.8.8", "0x8.526344", "[2606:4700::1]"]


def odd_urls(number: int) -> list[str]:
    """The same odd URLs each time."""
    source = random.Random(20261121)
    return [
        source.choice(["https", "HTTP"])
        + "://"
        + source.choice(ODD_HOSTS)
        + source.choice(["", ":", ":443", ":80", ":8443"])
        + source.choice("/?#")
        + "".join(source.choices(ODD_PIECES, k=source.randint(0, 12)))
        for _ in range(number)
    ]


def test_a_url_has_one_canonical_form() -> None:
    for given_url, expected in CANONICAL.items():
        insecure = expected.startswith(("http:", "https://127."))
        assert canonical_url(given_url, allow_insecure=insecure) == expected
        assert canonical_url(expected, allow_insecure=insecure) == expected


@pytest.mark.parametrize("code", REFUSED)
def test_an_invalid_target_is_refused_with_a_code(code: str) -> None:
    for url in REFUSED[code]:
        with pytest.raises(InvalidTarget) as refused:
            canonical_url(url)
        assert refused.value.code == code, url
        assert refused.value.message.endswith(".")
    longest = "https://example.com/" + "a" * (2048 - 20)
    assert canonical_url(longest) == longest


def test_the_development_setting_opens_http_and_internal_hosts_and_nothing_else() -> None:
    for url, expected in {
        "http://localhost:8080": "http://localhost:8080/",
        "http://example.com:80/": "http://example.com/",
        "http://receiver/hook": "http://receiver/hook",
        "http://127.1:9000/": "http://127.0.0.1:9000/",
        "https://[::1]/": "https://[::1]/",
        "https://api.default.svc.cluster.local/": "https://api.default.svc.cluster.local/",
    }.items():
        assert canonical_url(url, allow_insecure=True) == expected
    for url in ("ftp://a.com/", "http://u@a.com/", "http://a..b/", f"http://a/{'a' * 2048}"):
        with pytest.raises(InvalidTarget):
            canonical_url(url, allow_insecure=True)


def test_hosts_that_the_settings_name_may_be_internal_and_speak_http_and_no_others() -> None:
    hosts = InternalHosts.parse("erp.team-a.svc.cluster.local, *.team-b.svc.cluster.local,10.20.0.15")
    for url in (
        "http://erp.team-a.svc.cluster.local/hook",
        "https://ERP.team-a.svc.cluster.local./hook",
        "http://a.b.team-b.svc.cluster.local:8080/",
        "http://10.20.0.15/",
    ):
        assert canonical_url(url, allow_insecure=hosts) == canonical_url(url, allow_insecure=True)
    for url in (
        "http://hooks.example/",
        "https://crm.team-a.svc.cluster.local/",
        "http://team-b.svc.cluster.local/",
        "http://user@erp.team-a.svc.cluster.local/",
    ):
        with pytest.raises(InvalidTarget) as refused:
            canonical_url(url, allow_insecure=hosts)
        with pytest.raises(InvalidTarget, match=re.escape(refused.value.message)):
            canonical_url(url)
    for text in ("*", "http://erp.svc", "a,*.", "erp svc"):
        with pytest.raises(ValueError, match="is not a host"):
            InternalHosts.parse(text)


@given(st.text(max_size=60).map("https://example.com/".__add__) | st.text(max_size=40).map("https://".__add__))
def test_any_text_is_refused_or_becomes_a_fixpoint_in_plain_ascii(url: str) -> None:
    try:
        canonical = canonical_url(url)
    except InvalidTarget:
        return
    assert canonical.isascii()
    assert canonical.isprintable()
    assert " " not in canonical
    assert canonical_url(canonical) == canonical


@given(st.lists(st.sampled_from(ODD_PIECES), max_size=15).map("".join), st.sampled_from(ODD_HOSTS))
def test_the_canonical_form_is_a_fixpoint_and_what_yarl_sends(rest: str, host: str) -> None:
    canonical = canonical_url(f"https://{host}/{rest}")
    assert canonical_url(canonical) == canonical
    sent = URL(canonical, encoded=True)
    assert f"{sent.scheme}://{sent.host_port_subcomponent}{sent.raw_path_qs}" == canonical


def test_the_whatwg_parser_of_node_changes_nothing_in_a_canonical_url() -> None:
    pairs = [(url, canonical_url(url, allow_insecure=True)) for url in [*CANONICAL, *odd_urls(3000)]]
    script = """
        const pairs = JSON.parse(require('fs').readFileSync(0)), wrong = []
        for (const [given, canonical] of pairs) {
            const before = new URL(given), after = new URL(canonical)
            if (after.href !== canonical) wrong.push([given, canonical, after.href])
            if (before.hostname.replace(/\\.$/, '') !== after.hostname || before.port !== after.port)
                wrong.push([given, canonical, before.host])
        }
        console.log(JSON.stringify(wrong))
    """
    node = find_node(cache_folder(), os.environ, report=say).program
    judged = subprocess.run(
        [node, "-e", script], input=json.dumps(pairs), capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(judged.stdout) == []
