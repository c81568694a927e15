"""What people said: rates, tables, agreement, decisions."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
