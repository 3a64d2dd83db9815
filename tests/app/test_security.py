"""Nobody else is let in."""

from __future__ import annotations

import pytest

from tests.app.conftest import HOST, TOKEN, said

EVERYTHING = ["/", "/static/app.js", "/api/state", "/api/points", "/media/0", "/api/out/labels.csv", "/api/events"]


def post(client, body=None, **options):
    return client.post("/api/answers", json=body or {"entries": [said("label", [0], "rose")]}, **options)


def n_entries(session):
    return len(session.entries())


@pytest.mark.parametrize("path", EVERYTHING)
def test_nothing_without_the_token(client, path):
    client.cookies.clear()
    assert client.get(path).status_code == 401


def test_wrong_token(client):
    client.cookies.clear()
    refused = client.get("/?token=guess", follow_redirects=False)
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers


def test_wrong_cookie(client):
    name = next(iter(client.cookies))
    client.cookies.clear()
    client.cookies.set(name, "guess")
    assert client.get("/api/state").status_code == 401


def test_cookie_is_out_of_reach_of_scripts_and_other_sites(client):
    client.cookies.clear()
    cookie = client.get(f"/?token={TOKEN}", follow_redirects=False).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9999", "127.0.0.1", "127.0.0.1:8000.evil.example", ""])
def test_another_host(client, session, host):
    assert client.get("/api/state", headers={"host": host}).status_code == 421
    assert post(client, headers={"host": host}).status_code == 421
    assert n_entries(session) == 0


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1"])
def test_another_origin(client, session, origin):
    assert client.get("/api/state", headers={"origin": origin}).status_code == 403
    answered = post(client, headers={"origin": origin})
    assert answered.status_code == 403
    assert "access-control-allow-origin" not in answered.headers
    assert n_entries(session) == 0


def test_no_preflight_is_answered(client):
    asked = {"access-control-request-method": "POST"}
    assert client.options("/api/answers", headers=asked).status_code == 405


def test_a_post_without_origin(client, session):
    del client.headers["origin"]
    assert post(client).status_code == 403
    assert post(client, headers={"sec-fetch-site": "cross-site", "origin": f"http://{HOST}"}).status_code == 403
    assert n_entries(session) == 0
    assert post(client, headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""])
def test_a_form_post_from_elsewhere(client, session, kind):
    body = b'{"entries": []}'
    there = {"content-type": kind, "origin": "http://evil.example"}
    assert client.post("/api/answers", content=body, headers=there).status_code == 403
    assert client.post("/api/answers", content=body, headers={"content-type": kind}).status_code == 415
    assert n_entries(session) == 0


@pytest.mark.parametrize(
    "path",
    [
        "/static/../store.py",
        "/static/%2e%2e/store.py",
        "/static/..%2fstore.py",
        "/static//etc/passwd",
        "/static/vendor/../../store.py",
        "/media/..%2f..%2fanswers.sqlite",
        "/media/flower.png",
        "/media/-1",
        "/media/999999",
        "/api/out/../answers.sqlite",
        "/api/out/..%2fconfig.json",
        "/api/out/config.json",
    ],
)
def test_no_path_leads_out(client, path):
    answered = client.get(path)
    assert answered.status_code in (404, 422)
    assert b"SQLite" not in answered.content
    assert b"import" not in answered.content


def test_a_class_called_script_is_only_text(client, session):
    name = "<script>alert(1)</script>"
    assert post(client, {"entries": [said("label", [0], name)]}).status_code == 200
    session.wait()
    state = client.get("/api/state")
    assert state.headers["content-type"] == "application/json"
    assert name in [each["name"] for each in state.json()["classes"]]
    page = client.get("/")
    assert name not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    csv = client.get("/api/out/labels.csv")
    assert name in csv.text
    assert csv.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "wrong",
    [
        {"points": [90]},
        {"points": [-1]},
        {"points": ["../"]},
        {"points": [0, 1]},
        {"answer": ""},
        {"answer": "x" * 300},
        {"kind": "split"},
        {"kind": "../"},
        {"id": "short"},
        {"kind": "pair", "points": [0, 1], "answer": "perhaps"},
    ],
)
def test_what_is_no_answer_is_refused(client, session, wrong):
    answered = post(client, {"entries": [said("label", [0], "rose") | wrong]})
    assert answered.status_code == 422
    assert n_entries(session) == 0
