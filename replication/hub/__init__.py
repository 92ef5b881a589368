"""The hub: what a store offers to other stores (`/v1`) and to agents (`/mcp`) over HTTP."""
