"""OUT.provenance.json beside a file of results: how it was made, in the words of the command's."""
import hashlib
import json
import os
import re
import time
from typing import Any, Counter, Dict, Optional

from . import _core
from ._sources import is_path

SUFFIX = ".provenance.json"


def _sum(path: str) -> str:
    total = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            total.update(piece)
    return total.hexdigest()


def _input(source: Any) -> Dict[str, Any]:
    source = getattr(source, "source", source)  # one that is read through another
    if not is_path(source):
        return {"role": "input", "name": "values of Python"}
    path = os.fsdecode(source)
    found: Dict[str, Any] = {"role": "input", "name": os.path.basename(path)}
    if os.path.isfile(path):
        found.update(size=os.path.getsize(path), sha256=_sum(path))
    return found


def _date() -> Optional[str]:
    """The date of SOURCE_DATE_EPOCH; None where it is not set, or no time."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(text))) \
        if re.fullmatch("[0-9]{1,11}", text) else None


def _model(model: Any) -> Dict[str, Any]:
    info, weights = model.info, str(model.info["path"])
    made = {"model": info["name"], "weights": os.path.basename(weights.rstrip("/"))}
    revision = re.search("/snapshots/([^/]{1,64})", weights)
    if revision:
        made["revision"] = revision[1]
    made.update(fingerprint=model.fingerprint(), device=info["device"])
    index, device = 0, model._context.device(0)
    while device is not None and device[0] != info["device"]:
        index += 1
        device = model._context.device(index)
    if device is not None:
        made["device_name"] = device[1]
    made.update(kernels=info["kernels"], precision=info["precision"])
    return made


def describe(path: str, task: str, params: Dict[str, Any], source: Any, model: Any,
             statuses: "Counter[str]", seconds: float) -> Dict[str, Any]:
    """The description of the file at `path`, which is there; statuses: of all records."""
    made: Dict[str, Any] = {"bioinfer": _core.version(), "output": os.path.basename(path)}
    if os.path.isfile(path):
        made["output_size"] = os.path.getsize(path)
    made.update(command=["python"], task=task, **_model(model))
    made.update(options=" ".join(f"{name}={str(value)[:200]}" for name, value in params.items()),
                inputs=[_input(source)])
    if "logits" in str(params.get("include", "")).replace("class-logits", ""):
        made["columns"] = {"logits": list(model.vocabulary)}
    reasons = {name: n for name, n in statuses.items() if name != "ok"}
    made.update(records=sum(statuses.values()), failed=sum(reasons.values()))
    if reasons:
        made["reasons"] = reasons
    fixed = _date()
    made["date"] = fixed or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if not fixed:
        made["seconds"] = round(seconds, 3)
    return made


def write(path: str, made: Dict[str, Any]) -> None:
    """Writes it beside the file; it gets its name when it is whole."""
    part = f"{path}{SUFFIX}.tmp.{os.getpid()}"
    try:
        with open(part, "x", encoding="utf-8") as file:
            json.dump(made, file, indent=2, ensure_ascii=False)
            file.write("\n")
        os.replace(part, path + SUFFIX)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
