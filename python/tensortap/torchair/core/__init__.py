"""What programs import from here is `core.utils.logger`."""
