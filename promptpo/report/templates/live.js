
// Reloads the page once the server has something new; what is open stays so, and so does the place
// on the screen of the section that is read.
history.scrollRestoration = "manual";
const shown = document.getElementById("live").dataset.state;
const place = JSON.parse(sessionStorage.getItem(location.pathname) ?? "null");
if (place) {
  for (const id of place.open) document.getElementById(id)?.setAttribute("open", "");
  const read = document.getElementById(place.id)?.getBoundingClientRect().top ?? 0;
  scrollTo(0, place.id ? scrollY + read - place.top : place.top);
  sessionStorage.removeItem(location.pathname);
}
setInterval(async () => {
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => null);
  document.getElementById("live").textContent = answer ? "" : "The server has ended";
  if (!answer?.ok || answer.headers.get("ETag") === `"${shown}"`) return;
  const open = Array.from(document.querySelectorAll("details[open][id]"), (box) => box.id);
  const tops = Array.from(document.querySelectorAll("section[id]"), (s) => [s.id, s.getBoundingClientRect().top]);
  const [id, top] = tops.findLast(([, at]) => at < 100) ?? ["", scrollY];
  sessionStorage.setItem(location.pathname, JSON.stringify({ open, id, top }));
  location.reload();
}, 2000);
