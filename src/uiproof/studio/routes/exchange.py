"""Labels in and out as files."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
