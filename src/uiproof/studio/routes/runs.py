"""Runs as the report shows them, live while they go on."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
