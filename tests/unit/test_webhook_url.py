import asyncio
import json
import os
import random
import socket
import subprocess
from collections.abc import Callable

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from checklist_crds.webhook_url import InvalidTarget, canonical_url
from checklist_dev.binaries import cache_folder
from checklist_dev.failures import say
from checklist_dev.web.node import find_node
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender

CANONICAL = {
    # scheme, host, port
    "https://example.com": "https://example.com/",
    "HTTPS://EXAMPLE.Com/": "https://example.com/",
    "  https://example.com/ ": "https://example.com/",
    "https://example.com./": "https://example.com/",
    "https://example.com:443/": "https://example.com/",
    "https://example.com:0443/": "https://example.com/",
    "https://example.com:/": "https://example.com/",
    "https://example.com:80/": "https://example.com:80/",
    "https://example.com:08443/": "https://example.com:8443/",
    "https://bücher.example/": "https://xn--bcher-kva.example/",
    "https://BÜCHER.example/": "https://xn--bcher-kva.example/",
    "https://xn--bcher-kva.example/": "https://xn--bcher-kva.example/",
    "https://XN--BCHER-KVA.example/": "https://xn--bcher-kva.example/",
    "https://faß.example/": "https://xn--fa-hia.example/",
    "https://例え.テスト/": "https://xn--r8jz45g.xn--zckzah/",
    "https://אב.example/": "https://xn--4dbc.example/",
    "https://ｅｘａｍｐｌｅ．com/": "https://example.com/",
    "https://example。com/": "https://example.com/",
    "https://ex%61mple.com/": "https://example.com/",
    "https://b%C3%BCcher.example/": "https://xn--bcher-kva.example/",
    "https://ex\u00adample.com/": "https://example.com/",
    "https://my_app.example.com/": "https://my_app.example.com/",
    "https://-a-.example.com/": "https://-a-.example.com/",
    "https://r3---sn.example.com/": "https://r3---sn.example.com/",
    # addresses
    "https://8.8.8.8/": "https://8.8.8.8/",
    "https://8.8.8.8./": "https://8.8.8.8/",
    "https://8.8.2056/": "https://8.8.8.8/",
    "https://8.526344/": "https://8.8.8.8/",
    "https://134744072/": "https://8.8.8.8/",
    "https://0x08080808/": "https://8.8.8.8/",
    "https://010.8.0x8.8/": "https://8.8.8.8/",
    "https://８.８.８.８/": "https://8.8.8.8/",
    "https://[2606:4700:0:0:0:0:0:1]/": "https://[2606:4700::1]/",
    "https://[2606:4700:4700:0:0:0:0:1111]:443/": "https://[2606:4700:4700::1111]/",
    "https://[2606:4700:4700:0:0:0:0:1111]:8443/": "https://[2606:4700:4700::1111]:8443/",
    "https://[2606::A:0:0:B]/": "https://[2606::a:0:0:b]/",
    "https://[2606:0:1:0:2:0:3:0]/": "https://[2606:0:1:0:2:0:3:0]/",
    "https://[2606:1:2:3:4:5::]/": "https://[2606:1:2:3:4:5::]/",
    "https://[::ffff:8.8.8.8]/": "https://[::ffff:808:808]/",
    # paths
    "https://e.com/a/./b": "https://e.com/a/b",
    "https://e.com/a/../b": "https://e.com/b",
    "https://e.com/../../b": "https://e.com/b",
    "https://e.com/a/..": "https://e.com/",
    "https://e.com/a/.": "https://e.com/a/",
    "https://e.com/a/%2e%2E/b": "https://e.com/b",
    "https://e.com/a/.%2e/b": "https://e.com/b",
    "https://e.com/a%2fb": "https://e.com/a%2Fb",
    "https://e.com/..%2f": "https://e.com/..%2F",
    "https://e.com//a//b/": "https://e.com//a//b/",
    "https://e.com//..//a": "https://e.com//a",
    "https://e.com\\a\\..\\b": "https://e.com/b",
    "https://e.com/%7Euser/%41%5a%30%2d%5F": "https://e.com/~user/AZ0-_",
    "https://e.com/it's": "https://e.com/it%27s",
    "https://e.com/a b": "https://e.com/a%20b",
    "https://e.com/%20": "https://e.com/%20",
    "https://e.com/ü/☃": "https://e.com/%C3%BC/%E2%98%83",
    "https://e.com/%c3%bc": "https://e.com/%C3%BC",
    "https://e.com/%ff": "https://e.com/%FF",
    'https://e.com/"<>[]{}|^`': "https://e.com/%22%3C%3E%5B%5D%7B%7D%7C%5E%60",
    "https://e.com/:@!$&()*+,;=-._~": "https://e.com/:@!$&()*+,;=-._~",
    "https://e.com/%2541": "https://e.com/%2541",
    "https://e.com/%25%34%31": "https://e.com/%2541",
    "https://e.com/%00": "https://e.com/%00",
    "https://e.com/@user": "https://e.com/@user",
    # queries and fragments
    "https://e.com?": "https://e.com/",
    "https://e.com/?": "https://e.com/",
    "https://e.com/?#": "https://e.com/",
    "https://e.com#top": "https://e.com/",
    "https://e.com/a#b?c": "https://e.com/a",
    "https://e.com?a=1": "https://e.com/?a=1",
    "https://e.com/?a=1&a=2&&=": "https://e.com/?a=1&a=2&&=",
    "https://e.com/??": "https://e.com/??",
    "https://e.com/?a?b/../c": "https://e.com/?a?b/../c",
    "https://e.com/?q=it's": "https://e.com/?q=it%27s",
    "https://e.com/?q=a+b c": "https://e.com/?q=a+b%20c",
    "https://e.com/?q=%61%2B%26%3d": "https://e.com/?q=a%2B%26%3D",
    "https://e.com/?q=ü": "https://e.com/?q=%C3%BC",
    "https://e.com/?a\\b[]{}|^`": "https://e.com/?a%5Cb%5B%5D%7B%7D%7C%5E%60",
    "https://e.com/?u=https://x.com:80/%7E": "https://e.com/?u=https://x.com:80/~",
}

REFUSED = {
    "": "invalid_url",
    "example.com": "invalid_url",
    "//example.com/": "invalid_url",
    "https:example.com": "invalid_url",
    "https:/example.com": "invalid_url",
    "mailto:a@example.com": "invalid_url",
    "https://exa\nmple.com/": "invalid_url",
    "https://example.com/\t": "invalid_url",
    "https://example.com/\x00": "invalid_url",
    "https://example.com/\ud800": "invalid_url",
    "http://example.com/": "insecure_scheme",
    "ftp://example.com/": "insecure_scheme",
    "file://example.com/etc/passwd": "insecure_scheme",
    "gopher://example.com/": "insecure_scheme",
    "https://user@example.com/": "user_info",
    "https://user:pass@example.com/": "user_info",
    "https://@example.com/": "user_info",
    "https://example.com@evil.com/": "user_info",
    "https://example.com:80@evil.com/": "user_info",
    "https:///example.com/": "invalid_host",
    "https://": "invalid_host",
    "https://:443/": "invalid_host",
    "https://./": "invalid_host",
    "https://a..com/": "invalid_host",
    "https://.a.com/": "invalid_host",
    "https://example.com../": "invalid_host",
    "https://exa mple.com/": "invalid_host",
    "https://exa%20mple.com/": "invalid_host",
    "https://exa%2fmple.com/": "invalid_host",
    "https://ex%ffample.com/": "invalid_host",
    "https://ex%61mple.com%00/": "invalid_host",
    "https://ex*mple.com/": "invalid_host",
    "https://ex,mple.com/": "invalid_host",
    "https://xn--a.com/": "invalid_host",
    "https://xn--BCHER-kvb9999.com/": "invalid_host",
    "https://\u200d.com/": "invalid_host",
    "https://1a.אב/": "invalid_host",
    f"https://{'a' * 64}.com/": "invalid_host",
    f"https://{'.'.join(['a' * 50] * 5)}.com/": "invalid_host",
    "https://1.2.3.256/": "invalid_host",
    "https://1.2.3.4.5/": "invalid_host",
    "https://1.2.3.08/": "invalid_host",
    "https://0x1ffffffff/": "invalid_host",
    "https://4294967296/": "invalid_host",
    "https://foo.0x1/": "invalid_host",
    "https://foo.99/": "invalid_host",
    "https://[::1/": "invalid_host",
    "https://[::1]a/": "invalid_host",
    "https://[]/": "invalid_host",
    "https://[1.2.3.4]/": "invalid_host",
    "https://[v1.x]/": "invalid_host",
    "https://[fe80::1%eth0]/": "invalid_host",
    "https://[fe80::1%25eth0]/": "invalid_host",
    "https://[1::2::3]/": "invalid_host",
    "https://2606:4700::1111/": "invalid_port",
    "https://example.com:0/": "invalid_port",
    "https://example.com:65536/": "invalid_port",
    "https://example.com:x/": "invalid_port",
    "https://example.com:-1/": "invalid_port",
    "https://example.com:٤٤٣/": "invalid_port",
    "https://example.com/%": "invalid_escape",
    "https://example.com/%2": "invalid_escape",
    "https://example.com/%zz": "invalid_escape",
    "https://example.com/?q=100%": "invalid_escape",
    f"https://example.com/{'a' * 2040}": "too_long",
    f"https://example.com/{'ü' * 400}": "too_long",
    "https://receiver/": "internal_host",
    "https://receiver./": "internal_host",
    "https://localhost/": "internal_host",
    "https://LOCALHOST./": "internal_host",
    "https://%6c%6f%63%61lhost/": "internal_host",
    "https://a.localhost/": "internal_host",
    "https://printer.local/": "internal_host",
    "https://metadata.google.internal/": "internal_host",
    "https://api.default.svc/": "internal_host",
    "https://api.default.svc.cluster.local./": "internal_host",
    "https://ａｐｉ．ｄｅｆａｕｌｔ．ｓｖｃ/": "internal_host",
    "https://127.0.0.1/": "denied_address",
    "https://2130706433/": "denied_address",
    "https://0/": "denied_address",
    "https://169.254.169.254/latest/meta-data/": "denied_address",
    "https://224.0.0.1/": "denied_address",
    "https://[::1]/": "denied_address",
    "https://[::]/": "denied_address",
    "https://[::ffff:169.254.169.254]/": "denied_address",
    "https://[fe80::1]/": "denied_address",
    "https://[ff02::1]/": "denied_address",
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


@pytest.mark.parametrize(("given_url", "expected"), CANONICAL.items())
def test_a_url_has_one_canonical_form(given_url: str, expected: str) -> None:
    assert canonical_url(given_url) == expected
    assert canonical_url(expected) == expected


@pytest.mark.parametrize(("url", "code"), REFUSED.items())
def test_what_cannot_be_a_target_is_refused_with_a_code(url: str, code: str) -> None:
    with pytest.raises(InvalidTarget) as refused:
        canonical_url(url)
    assert refused.value.code == code
    assert refused.value.message.endswith(".")


@pytest.mark.parametrize(
    ("url", "expected"),
    {
        "http://localhost:8080": "http://localhost:8080/",
        "http://example.com:80/": "http://example.com/",
        "http://receiver/hook": "http://receiver/hook",
        "http://127.1:9000/": "http://127.0.0.1:9000/",
        "https://[::1]/": "https://[::1]/",
        "https://api.default.svc.cluster.local/": "https://api.default.svc.cluster.local/",
    }.items(),
)
def test_the_development_setting_opens_http_and_internal_hosts(url: str, expected: str) -> None:
    assert canonical_url(url, allow_insecure=True) == expected


@pytest.mark.parametrize("url", ["ftp://a.com/", "http://u@a.com/", "http://a..b/", f"http://a/{'a' * 2048}"])
def test_the_development_setting_opens_nothing_else(url: str) -> None:
    with pytest.raises(InvalidTarget):
        canonical_url(url, allow_insecure=True)


def test_the_longest_url_has_2048_characters() -> None:
    longest = "https://example.com/" + "a" * (2048 - 20)
    assert canonical_url(longest) == longest


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


@given(
    st.lists(st.sampled_from(ODD_PIECES), max_size=15).map("".join),
    st.sampled_from(ODD_HOSTS),
)
def test_the_canonical_form_is_a_fixpoint_and_what_yarl_will_send(rest: str, host: str) -> None:
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
    judged = subprocess.run(
        [find_node(cache_folder(), os.environ, report=say).program, "-e", script],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(judged.stdout) == []


class EveryNameIsLoopback(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


async def test_what_a_socket_receives_is_what_the_canonical_url_says_and_verifies(
    start_receiver: Callable[..., object], verify: Callable[..., None]
) -> None:
    receiver = await start_receiver()
    origin = f"http://hooks.example:{receiver.port}"
    urls = [url.replace("e.com", f"Hooks.Example.:{receiver.port}") for url in CANONICAL if "//e.com" in url]
    urls += [f"http://Bücher.example:{receiver.port}/ü?x", f"http://a_b.example:0{receiver.port}//"]
    urls += [origin + "/" + "".join(random.Random(seed).choices(ODD_PIECES, k=8)) for seed in range(150)]
    urls += [f"http://127.1:{receiver.port}/"]
    expected = [canonical_url(url.replace("https:", "http:"), allow_insecure=True) for url in urls]
    async with Sender(AddressPolicy(allow_insecure=True), resolver=EveryNameIsLoopback()) as sender:
        for url in expected:
            outcome = await asyncio.wait_for(sender.send(url, b"{}", b"sixteen or more characters", "r-1"), 5)
            assert outcome.ok, (url, outcome)
    received = []
    for url, request in zip(expected, receiver.requests, strict=True):
        method, target, _ = request.request_line.split(" ")
        received.append(f"http://{request.headers['host']}{target}")
        headers = dict(request.header_lines)
        now = int(headers["Signature-Input"].partition("created=")[2].partition(";")[0])
        verify(method, url, headers, request.body, "sixteen or more characters", now=now)
    assert received == expected
