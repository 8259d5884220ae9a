// Counts down the time that the user has left. The service says how much: the clock of this device may be wrong.
let clockEnd;

function startClock() {
  const clock = document.getElementById("countdown");
  clockEnd = clock && Date.now() + Number(clock.dataset.seconds) * 1000;
  tickClock();
}

function tickClock() {
  const clock = document.getElementById("countdown");
  if (!clock) return;
  const left = Math.max(0, Math.ceil((clockEnd - Date.now()) / 1000));
  const parts = [Math.floor(left / 60) % 60, left % 60].map((part) => String(part).padStart(2, "0"));
  const time = left < 3600 ? `${Number(parts[0])}:${parts[1]}` : `${Math.floor(left / 3600)}:${parts.join(":")}`;
  clock.textContent = clock.dataset.text.replace("{time}", time);
}

document.addEventListener("shown", startClock);
startClock();
setInterval(tickClock, 1000);
