"""Access to a hub: tokens, the devices that use them, and how often a wrong secret may be tried."""
