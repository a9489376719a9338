"""Privacy models: when is a group safe? A model sees counts, never rows."""
