"""Photos: uploads are untrusted until they were decoded and encoded again.

Two sides that share no memory: `processing` belongs to the API process and never sees a pixel; `worker` and what it
imports (`image_files`, `pixels`, `exif_facts`) run in processes of their own and know nothing of the service.
"""
