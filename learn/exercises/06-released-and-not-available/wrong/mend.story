patch pv/archive --subresource status --type merge -p '{"status": {"phase": "Available"}}'

settle
