"""Every word of the app, in English and Chinese."""
