"""Programs import only `core.utils.logger` from here."""
