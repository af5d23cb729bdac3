"""Repositories whose configuration, attributes, hooks and files name a command that must never run."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.workspace.bakery import STORY
from tests.workspace.release import put
from tests.workspace.teams import commit, git

LP = "Minimize\n obj: {cost} x + 2 y\nSubject To\n need: x + y >= {need}\nEnd\n"
HOOK_NAMES = """
    applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
    pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
    reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist
    p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change
"""
ATTRIBUTES = "* filter=x diff=x merge=x text eol=crlf export-subst\n"
# Ways to name attributes: in the repository, in the commits, in the working tree, by a setting.
PLACES = ("info", "committed", "worktree", "setting")
DRIVERS = {
    "smudge": '[filter "x"]\n smudge = {run}\n required = true\n',
    "clean": '[filter "x"]\n clean = {run}\n required = true\n',
    "process": '[filter "x"]\n process = {run}\n required = true\n',
    "textconv": '[diff "x"]\n textconv = {run}\n cachetextconv = true\n',
    "diff": '[diff "x"]\n command = {run}\n',
    "merge": '[merge "x"]\n driver = {run}\n',
}
PROMISED = "[core]\n repositoryformatversion = 1\n[extensions]\n partialClone = origin\n"
REMOTE = PROMISED + '[remote "origin"]\n promisor = true\n'
# Settings without which a commit that lacks an object makes git fetch it.
FETCHES = {
    "ext": REMOTE + ' url = "ext::{run} %S"\n[protocol "ext"]\n allow = always\n',
    "ext-all": REMOTE + ' url = "ext::{run}"\n[protocol]\n allow = always\n',
    "ssh": REMOTE + " url = ssh://localhost/none\n[core]\n sshCommand = {run}\n",
    "ssh-variant": REMOTE + " url = host:none\n[core]\n sshCommand = {run}\n[ssh]\n variant = simple\n",
    "uploadpack": REMOTE + " url = {folder}\n uploadpack = {run}\n",
    "vcs": REMOTE + " url = x\n vcs = ext\n",
    "proxy": REMOTE + " url = git://localhost/none\n[core]\n gitProxy = {run}\n",
    "instead": REMOTE + ' url = x:none\n[url "ext::{run} "]\n insteadOf = x:\n[protocol "ext"]\n allow = always\n',
    "credential": REMOTE + ' url = http://localhost:9/none\n[credential]\n helper = "!{run}"\n',
    "askpass": REMOTE + " url = http://a@localhost:9/none\n[core]\n askPass = {run}\n",
    "pack-hook": REMOTE + " url = {folder}\n[uploadpack]\n packObjectsHook = {run}\n allowAnySHA1InWant = true\n",
    "alternate-refs": REMOTE + " url = {folder}\n[core]\n alternateRefsCommand = {run}\n",
}
SETTINGS = {
    "fsmonitor": "[core]\n fsmonitor = {run}\n",
    "fsmonitor-1": "[core]\n fsmonitor = {run}\n fsmonitorHookVersion = 1\n",
    "hooks-path": "[core]\n hooksPath = {folder}/.git/planted\n",
    "pager": "[core]\n pager = {run}\n[pager]\n log = {run}\n diff-tree = true\n rev-parse = {run}\n",
    "editor": "[core]\n editor = {run}\n[sequence]\n editor = {run}\n",
    "external-diff": "[diff]\n external = {run}\n",
    "external-diff-trusted": "[diff]\n external = {run}\n trustExitCode = true\n",
    "gpg": "[gpg]\n program = {run}\n[commit]\n gpgSign = true\n[tag]\n gpgSign = true\n[log]\n showSignature = true\n",
    "gpg-x509": '[gpg]\n format = x509\n[gpg "x509"]\n program = {run}\n[commit]\n gpgSign = true\n',
    "gpg-ssh": '[gpg]\n format = ssh\n[gpg "ssh"]\n program = {run}\n defaultKeyCommand = {run}\n'
    "[commit]\n gpgSign = true\n",
    "alias": "".join(
        f'[alias]\n {name} = "!{{run}}"\n' for name in ("log", "ls-tree", "cat-file", "rev-parse", "update-ref", "init")
    ),
    "trailer": '[trailer "verb"]\n key = Verb\n command = {run}\n cmd = {run}\n ifmissing = add\n',
    "include": "[include]\n path = {folder}/docs/settings\n",
    "include-relative": "[include]\n path = ../docs/settings\n",
    "include-if": '[includeIf "gitdir:/"]\n path = {folder}/docs/settings\n',
    "include-branch": '[includeIf "onbranch:**"]\n path = ../docs/settings\n',
    "worktree-config": "[core]\n repositoryformatversion = 1\n[extensions]\n worktreeConfig = true\n",
    "core-worktree": "[core]\n worktree = {folder}/../elsewhere\n fsmonitor = {run}\n",
    "bare": "[core]\n bare = true\n fsmonitor = {run}\n",
    "pack-objects": "[uploadpack]\n packObjectsHook = {run}\n",
    "receive-pack": '[remote "origin"]\n url = .\n receivepack = {run}\n uploadpack = {run}\n',
    "submodule": '[submodule "s"]\n url = "ext::{run}"\n update = "!{run}"\n active = true\n[submodule]\n recurse = true\n',
    "tools": '[difftool "x"]\n cmd = {run}\n[mergetool "x"]\n cmd = {run}\n[diff]\n tool = x\n[merge]\n tool = x\n',
    "interactive": "[interactive]\n diffFilter = {run}\n",
    "browser": '[browser "x"]\n cmd = {run}\n[web]\n browser = x\n[man "x"]\n cmd = {run}\n',
    "template": "[init]\n templateDir = {folder}/.git/planted\n",
    "gc": "[gc]\n auto = 1\n recentObjectsHook = {run}\n[maintenance]\n auto = true\n strategy = incremental\n",
    "hook-setting": '[hook "x"]\n command = {run}\n event = reference-transaction\n event = post-index-change\n',
    "mail": '[sendemail]\n toCmd = {run}\n[imap]\n tunnel = {run}\n[guitool "x"]\n cmd = {run}\n',
    "safe": "[safe]\n directory = *\n bareRepository = all\n[core]\n fsmonitor = {run}\n",
}


@dataclass(frozen=True)
class Planted:
    """One configuration that names a command."""

    name: str
    # Text added to ``.git/config``; ``{run}`` is the command and ``{folder}`` the repository.
    config: str
    # Where attributes are.
    attributes: str = ""
    # Whether an object of the first commit is absent, so that git would fetch it.
    is_partial: bool = False
    # Further files by path below the repository.
    files: dict[str, str] = field(default_factory=dict)


def list_planted() -> list[Planted]:
    """Return all configurations."""
    planted = [Planted(f"{name}-{place}", text, attributes=place) for name, text in DRIVERS.items() for place in PLACES]
    planted += [Planted(f"fetch-{name}", text, is_partial=True) for name, text in FETCHES.items()]
    more = {
        "include": {"docs/settings": DRIVERS["smudge"]},
        "include-relative": {"docs/settings": DRIVERS["process"]},
        "include-if": {"docs/settings": SETTINGS["fsmonitor"]},
        "include-branch": {"docs/settings": SETTINGS["external-diff"]},
        "worktree-config": {".git/config.worktree": SETTINGS["fsmonitor"] + DRIVERS["smudge"]},
        "core-worktree": {"../elsewhere/secret.txt": "secret\n"},
        "submodule": {".gitmodules": '[submodule "s"]\n path = s\n url = "ext::{run}"\n update = !{run}\n'},
    }
    hooks = {f".git/planted/{hook}": "#!/bin/sh\n{run}\n" for hook in HOOK_NAMES.split()}
    more["hooks-path"] = hooks
    more["template"] = hooks | {f".git/planted/hooks/{hook}": "#!/bin/sh\n{run}\n" for hook in HOOK_NAMES.split()}
    attributed = {"include": "info", "include-relative": "committed", "worktree-config": "info", "hook-setting": "info"}
    planted += [
        Planted(name, text, attributes=attributed.get(name, ""), files=more.get(name, {}))
        for name, text in SETTINGS.items()
    ]
    planted.append(
        Planted("hooks", "", files={f".git/hooks/{hook}": "#!/bin/sh\n{run}\n" for hook in HOOK_NAMES.split()})
    )
    planted.append(
        Planted("alternates", SETTINGS["fsmonitor"], files={".git/objects/info/alternates": "{folder}/../elsewhere\n"})
    )
    together = "".join(
        [*DRIVERS.values(), *(text for name, text in SETTINGS.items() if name not in ("bare", "core-worktree"))]
    )
    planted.append(Planted("together", together, attributes="info", files=planted[-2].files | hooks))
    return planted


def make_history(folder: Path, attributes: str = "") -> Path:
    """Create a repository with two commits, a model in each, and a signed third commit as tip of a branch."""
    put(folder, {"docs/business_requirement.md": STORY, "data/t.csv": "item,value\na,1\nb,2\n", "old.csv": "n\n7\n"})
    put(folder, {"model.lp": LP.format(cost=3, need=4), **({".gitattributes": attributes} if attributes else {})})
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(folder, "Begin")
    put(
        folder,
        {"model.lp": LP.format(cost=1, need=5), "data/t.csv": "item,value\na,1\nb,3\n", "note.md": "[data/t.csv]"},
    )
    (folder / "old.csv").unlink()
    commit(folder, "Change")
    signed = git(folder, "cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig -----BEGIN\n x\n -----END\n\n", 1)
    (folder / ".git/signed").write_text(signed)
    name = git(folder, "hash-object", "-w", "-t", "commit", ".git/signed").strip()
    git(folder, "update-ref", "refs/heads/main", name)
    return folder


def plant(planted: Planted, bases: dict[str, Path], folder: Path, run: Path) -> Path:
    """Copy a repository and add one configuration to it; the command is a script of the configuration's name."""
    command = run / planted.name
    command.write_text(f'#!/bin/sh\necho {planted.name} >> "{run}/ran"\nexit 0\n')
    command.chmod(0o755)
    shutil.copytree(bases["committed" if planted.attributes == "committed" else ""], folder)

    def fill(text: str) -> str:
        return text.replace("{run}", str(command)).replace("{folder}", str(folder))

    config = folder / ".git/config"
    config.write_text(config.read_text() + fill(planted.config))
    attributes = {"info": ".git/info/attributes", "worktree": ".gitattributes", "setting": ".git/x"}
    if planted.attributes in attributes:
        put(folder, {attributes[planted.attributes]: ATTRIBUTES})
    if planted.attributes == "setting":
        config.write_text(config.read_text() + f"[core]\n attributesFile = {folder}/.git/x\n")
    put(folder, {path: fill(text) for path, text in planted.files.items()})
    for path in planted.files:
        if path.startswith((".git/hooks", ".git/planted")):
            (folder / path).chmod(0o755)
    if planted.is_partial:
        name = git(bases[""], "rev-parse", "HEAD~1:old.csv").strip()
        (folder / ".git/objects" / name[:2] / name[2:]).unlink()
    return folder
