"""Generated pages, each in a sandbox of its own."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
