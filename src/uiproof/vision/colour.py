"""Colour differences: sRGB to CIELAB, and CIEDE2000.

    srgb_to_lab([255, 0, 0])                                     # array([53.23, 80.11, 67.22])
    ciede2000(srgb_to_lab([255, 0, 0]), srgb_to_lab([250, 0, 0]))  # 0.90

Both functions take arrays whose last axis has three entries and work on all colours at once.

References:
    IEC 61966-2-1 (sRGB); CIE 15 (CIELAB);
    G. Sharma, W. Wu, E. N. Dalal, "The CIEDE2000 color-difference formula: implementation notes,
    supplementary test data, and mathematical observations", Color Research & Application, 2005.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Rounded as in colormath, which the reference implementation of Design2Code uses: more digits
# would change scores in their seventh decimal.
_SRGB_TO_XYZ = np.array(
    [
        [0.412424, 0.357579, 0.180464],
        [0.212656, 0.715158, 0.0721856],
        [0.0193324, 0.119193, 0.950444],
    ]
)
_WHITE_D65 = np.array([0.95047, 1.0, 1.08883])  # CIE 1931 2 degree observer
_CUBE_ROOT_FROM = 216 / 24389
_LINEAR_SLOPE = 7.787


def srgb_to_lab(rgb: npt.ArrayLike) -> Floats:
    """Return CIELAB (D65, 2 degree observer) of sRGB colours with channels in 0-255."""
    encoded = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    # Not `@`, whose last bits may depend on the number of colours: equal ones must stay equal.
    xyz = (linear[..., np.newaxis, :] * _SRGB_TO_XYZ).sum(axis=-1) / _WHITE_D65
    f = np.where(xyz > _CUBE_ROOT_FROM, np.cbrt(xyz), _LINEAR_SLOPE * xyz + 16 / 116)
    fx, fy, fz = np.moveaxis(f, -1, 0)
    return np.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], axis=-1)


def ciede2000(lab1: npt.ArrayLike, lab2: npt.ArrayLike) -> Floats:
    """Return the CIEDE2000 difference of CIELAB colours, with all weights 1; 0 means identical.

    The names follow Sharma et al. (2005), equations 2 to 22. One step follows colormath, for
    comparable scores: if the hues are more than 180 degrees apart, the mean hue is
    (h1 + h2 + 360) / 2 even beyond 360. This affects only the rotation term, by less than 0.0002 in
    the result for any two sRGB colours.
    """
    l1, a1, b1 = np.moveaxis(np.asarray(lab1, dtype=np.float64), -1, 0)
    l2, a2, b2 = np.moveaxis(np.asarray(lab2, dtype=np.float64), -1, 0)

    mean_c = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = 0.5 * (1 - _saturation(mean_c))
    a1p, a2p = (1 + g) * a1, (1 + g) * a2
    c1p, c2p = np.hypot(a1p, b1), np.hypot(a2p, b2)
    h1p = np.degrees(np.arctan2(b1, a1p)) % 360
    h2p = np.degrees(np.arctan2(b2, a2p)) % 360

    # A full turn in the hue difference only changes the sign of the sine of its half.
    turn = h2p - h1p
    turn = np.where(turn > 180, turn - 360, np.where(turn < -180, turn + 360, turn))
    delta_l, delta_c = l2 - l1, c2p - c1p
    delta_h = 2 * np.sqrt(c1p * c2p) * np.sin(np.radians(turn) / 2)

    mean_l, mean_cp = (l1 + l2) / 2, (c1p + c2p) / 2
    mean_h = (h1p + h2p + np.where(np.abs(h1p - h2p) > 180, 360, 0)) / 2
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_h - 30))
        + 0.24 * np.cos(np.radians(2 * mean_h))
        + 0.32 * np.cos(np.radians(3 * mean_h + 6))
        - 0.20 * np.cos(np.radians(4 * mean_h - 63))
    )
    s_l = 1 + 0.015 * (mean_l - 50) ** 2 / np.sqrt(20 + (mean_l - 50) ** 2)
    s_c = 1 + 0.045 * mean_cp
    s_h = 1 + 0.015 * mean_cp * t
    rotation = 30 * np.exp(-(((mean_h - 275) / 25) ** 2))
    r_t = -2 * _saturation(mean_cp) * np.sin(np.radians(2 * rotation))

    light, chroma, hue = delta_l / s_l, delta_c / s_c, delta_h / s_h
    squared: Floats = light**2 + chroma**2 + hue**2 + r_t * chroma * hue
    # Rounding can make this slightly negative for equal colours.
    distance: Floats = np.sqrt(np.maximum(squared, 0))
    return distance


def _saturation(chroma: Floats) -> Floats:
    seventh = chroma**7
    root: Floats = np.sqrt(seventh / (seventh + 25.0**7))
    return root
