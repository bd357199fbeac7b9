"""The copies of chosen files that `forms_app/static/forms_app/files/copies.js` keeps in the browser's database."""

from playwright.sync_api import Page

# Opening a database that is not there would make an empty one, without the page's store.
_HAS_COPIES = """async (count) => {
  const found = (await indexedDB.databases()).find((one) => one.name.startsWith("fieldpost:"));
  if (!found) return false;
  const finished = (request) => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  const database = await finished(indexedDB.open(found.name));
  try {
    return (await finished(database.transaction("files").objectStore("files").count())) === count;
  } finally {
    database.close();
  }
}"""


def wait_for_copies(page: Page, count: int) -> None:
    """Return once the page has written so many copies: nothing on it shows that."""
    page.wait_for_function(_HAS_COPIES, arg=count)
