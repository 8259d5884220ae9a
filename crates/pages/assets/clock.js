// Counts down the time that the user has left. The service says how much: the clock of this device may be wrong.
let end;

function begin() {
  const clock = document.getElementById("countdown");
  end = clock && Date.now() + Number(clock.dataset.seconds) * 1000;
  tick();
}

function tick() {
  const clock = document.getElementById("countdown");
  if (!clock) return;
  const left = Math.max(0, Math.ceil((end - Date.now()) / 1000));
  const parts = [Math.floor(left / 60) % 60, left % 60].map((part) => String(part).padStart(2, "0"));
  const time = left < 3600 ? `${Number(parts[0])}:${parts[1]}` : `${Math.floor(left / 3600)}:${parts.join(":")}`;
  clock.textContent = clock.dataset.text.replace("{time}", time);
}

document.addEventListener("shown", begin);
begin();
setInterval(tick, 1000);
