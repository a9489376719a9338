"""From a question to an interval: conditions, bitmaps, A-Count and G-Count."""
