"""Working interactive pages, and every way in which a rebuilt page fails, with the right label."""
