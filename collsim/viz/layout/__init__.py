"""Where devices and links are drawn, in CSS pixels."""
