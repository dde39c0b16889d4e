"""Photos: uploads are untrusted until they are re-encoded.

`processing` runs in the API process and never decodes an image; `worker` and its imports (`image_files`, `pixels`,
`exif_facts`) run in separate processes without access to the service.
"""
