"""The options of a compiled graph; `compiler_config.CompilerConfig` holds them all."""
