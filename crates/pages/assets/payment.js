// Conveniences of the payment page: the browser's own wallet (WebLN), copying the invoice, and a clock.
const status = document.getElementById("status");

const wallet = document.getElementById("webln");
const payButton = wallet.querySelector("button");

async function pay() {
  payButton.disabled = true;
  try {
    await window.webln.enable();
    // The page says `paid` when the service has the money, whatever the wallet says.
    await window.webln.sendPayment(wallet.dataset.invoice);
  } catch {
    status.textContent = wallet.dataset.refused;
  }
  payButton.disabled = false;
}

function look(left) {
  if (window.webln) {
    wallet.hidden = false;
    payButton.addEventListener("click", pay);
  } else if (left > 0) {
    setTimeout(look, 50, left - 1);
  }
}

look(40);

const copy = document.getElementById("copy");
const copyButton = copy.querySelector("button");
const invoice = document.getElementById("invoice");
copy.hidden = false;

copyButton.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(invoice.value);
    copyButton.textContent = copyButton.dataset.copied;
  } catch {
    // Not allowed here: the user copies what is selected.
    invoice.focus();
    invoice.select();
  }
});

const clock = document.getElementById("countdown");
const end = performance.now() + Number(clock.dataset.seconds) * 1000;

function tick() {
  const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  clock.textContent = clock.dataset.text.replace("{time}", time);
  if (left > 0) setTimeout(tick, 1000);
}

tick();
