#!/usr/bin/env python3
"""One comment on a pull request, written anew by each run: comment.py FILE.md NAME. NAME tells comments of several audits apart. Reads what a GitHub runner has in its
environment. Where there is no pull request, GitHub does not answer, or the token may not write (that of a fork), one line says so, and the exit code is 0: the summary of the run has the text."""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

LIMIT = 65536  # characters that GitHub takes


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json", "Content-Type": "application/json"}
    url = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}"
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
        return json.load(answer)


def find(number, mark):
    """The comment of an earlier run, whoever's token wrote it."""
    for page in range(1, 100):
        comments = ask("GET", f"issues/{number}/comments?per_page=100&page={page}")
        for comment in comments:
            if comment["body"].startswith(mark.rstrip()):  # who edits it in a browser makes CRLF of the line's end
                return comment["id"]
        if len(comments) < 100:
            return None
    return None


def main():
    text, mark = pathlib.Path(sys.argv[1]).read_text(), f"<!-- ulpscope {sys.argv[2].replace('-->', '')} -->\n"
    event = json.loads(pathlib.Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("no comment: this run is of no pull request")
        return
    body = {"body": (mark + text)[:LIMIT]}
    try:
        earlier = find(number, mark)
        ask(*(("POST", f"issues/{number}/comments", body) if earlier is None else ("PATCH", f"issues/comments/{earlier}", body)))
    except urllib.error.HTTPError as error:
        why = ": the workflow needs `permissions: pull-requests: write`, and a fork's runs have it never" if error.code in (401, 403, 404) else ""
        print(f"no comment: GitHub answers {error.code} ({error.reason}){why}")
    except OSError as error:
        print(f"no comment: GitHub does not answer ({error})")


main()
