#!/usr/bin/env python3
"""Builds an image from a Containerfile without an engine, to show what an image is: an archive of three files. One is an
archive again, the layer, with the files of the image; the other two describe it.

Usage: build_image.py CONTAINERFILE FOLDER NAME:TAG ARCHIVE    files that are copied come from FOLDER

The archive has the format of `docker save`. It knows FROM scratch, COPY of one file, EXPOSE and ENTRYPOINT. The same
files always make the same archive.
"""
import hashlib
import io
import json
import pathlib
import platform
import sys
import tarfile


def archive(files):
    """A tar archive of (name, content, mode)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def inside(folder, name):
    """The path of a file of the build context; neither `..` nor a symbolic link leads out of that folder."""
    path = (folder / name.lstrip("/")).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is not in the folder {folder}")
    return path


def in_image(name):
    """The name of a file as the layer has it: without the first slash, and within the image."""
    parts = pathlib.PurePosixPath(name.lstrip("/")).parts
    if not parts or ".." in parts:
        raise ValueError(f"{name} is no file of the image")
    return "/".join(parts)


def build(containerfile, folder, tag):
    """The bytes of the image."""
    config, files = {"ExposedPorts": {}}, []
    instructions = [line.split(maxsplit=1) for line in containerfile.splitlines() if line.strip() and line[0] != "#"]
    for number, (word, rest) in enumerate(instructions):
        if (word == "FROM") != (number == 0):
            raise ValueError("FROM must be the first instruction, and only that")
        if word == "FROM" and rest == "scratch":
            continue
        if word == "COPY" and len(names := rest.split()) == 2:
            files.append((in_image(names[1]), inside(folder, names[0]).read_bytes(), 0o755))
        elif word == "EXPOSE":
            config["ExposedPorts"][f"{int(rest)}/tcp"] = {}
        elif word == "ENTRYPOINT":
            config["Entrypoint"] = json.loads(rest)
        else:
            raise ValueError(f"unknown instruction: {word} {rest}")
    layer = archive(files)
    processor = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())  # as OCI calls it
    description = json.dumps({
        "architecture": processor, "os": "linux", "config": config,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode()
    return archive([("manifest.json", manifest, 0o644), ("config.json", description, 0o644), ("layer.tar", layer, 0o644)])


def main():
    if len(sys.argv) != 5:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    containerfile, folder, tag, target = sys.argv[1:]
    try:
        image = build(pathlib.Path(containerfile).read_text(), pathlib.Path(folder), tag)
        pathlib.Path(target).write_bytes(image)
    except (OSError, ValueError) as error:
        print(f"build_image.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
