"""What everything else speaks of: attributes, schemas, tables, partitions, boxes."""
