"""Fields for passwords in real Chromium: what a person with a password manager needs, and what others must not see."""

from playwright.async_api import expect

from checklist_dev.browser.office import Office

from .conftest import NewDevice

_PASTED = """field => {
  const data = new DataTransfer();
  data.setData("text/plain", "pasted");
  return field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


async def test_passwords_are_hidden_may_be_pasted_and_are_known_to_password_managers(
    office: Office, new_device: NewDevice
) -> None:
    device = await new_device()
    await device.page.goto(f"{office.stage.base_url}/dashboard/sign-in")
    field = device.page.get_by_label("Password", exact=True)
    await expect(field).to_have_attribute("type", "password")
    await expect(field).to_have_attribute("autocomplete", "current-password")
    assert await field.evaluate(_PASTED), "the page hinders pasting"
    address = device.page.get_by_label("E-mail address")
    await expect(address).to_have_attribute("autocomplete", "username")
