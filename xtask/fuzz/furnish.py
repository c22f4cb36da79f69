"""Makes what requests with real names are about; the only argument is a rack's ready file."""

import json
import sys

import requests

with open(sys.argv[1], encoding="utf-8") as file:
    ready = json.load(file)
session = requests.Session()
session.headers["Authorization"] = f"Bearer {ready['token']}"
GIBIBYTE = 1 << 30


def make(path, name, **body):
    answer = session.post(
        f"{ready['external_api'][0]}{path}",
        json={"name": name, "description": "", **body},
        timeout=60,
    )
    answer.raise_for_status()


make("/v1/projects", "demo")
make("/v1/floating-ips?project=demo", "demo")
source = {"type": "blank", "block_size": 512}
backend = {"type": "distributed", "disk_source": source}
make("/v1/disks?project=demo", "demo", size=GIBIBYTE, disk_backend=backend)
make("/v1/snapshots?project=demo", "demo", disk="demo")
size = {"ncpus": 1, "memory": GIBIBYTE, "hostname": "demo"}
make("/v1/instances?project=demo", "demo", start=False, **size)
