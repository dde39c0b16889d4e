"""An installation that names native apps."""

APPLE_APP = "ABCDE12345.com.example.checklists"
FINGERPRINT = ":".join(f"{number:02X}" for number in range(32))
APPS = {
    "CHECKLISTS_APPLE_APPS": APPLE_APP,
    "CHECKLISTS_APPLE_STORE_ID": "123456789",
    "CHECKLISTS_ANDROID_APPS": f"com.example.checklists {FINGERPRINT}",
}
