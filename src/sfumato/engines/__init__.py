"""Where rows live: in memory, or beyond it. Never an algorithm."""
