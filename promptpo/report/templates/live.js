
// Reloads the page once the server has something new; what is open and scrolled stays so.
const shown = document.getElementById("live").dataset.state;
const place = JSON.parse(sessionStorage.getItem(location.pathname) ?? "null");
if (place) {
  for (const id of place.open) document.getElementById(id)?.setAttribute("open", "");
  scrollTo(0, place.top);
  sessionStorage.removeItem(location.pathname);
}
setInterval(async () => {
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => null);
  document.getElementById("live").textContent = answer ? "" : "The server has ended";
  if (!answer?.ok || answer.headers.get("ETag") === `"${shown}"`) return;
  const open = Array.from(document.querySelectorAll("details[open][id]"), (box) => box.id);
  sessionStorage.setItem(location.pathname, JSON.stringify({ open, top: scrollY }));
  location.reload();
}, 2000);
