"""The machine that is timed: its processor, threads, graphics card and versions, and when its work is done."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import faiss
import torch
import transformers

CPUINFO = Path("/proc/cpuinfo")  # of Linux


def describe_machine(device: torch.device) -> dict[str, Any]:
    """Ready for JSON. device: what searches run on."""
    return {
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "faiss": faiss.__version__,
    }


def processor_name() -> str:
    """The processor's name, and the instruction sets that matter for matrix products."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {name.strip(): value.strip() for name, value in (line.split(":", 1) for line in lines if ":" in line)}
    flags = fields.get("flags", "").split()
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    return f"{fields.get('model name', platform.machine())} ({', '.join(known)})"


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
