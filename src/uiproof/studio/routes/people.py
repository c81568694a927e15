"""Who labels, and the addresses they open."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
