// Conveniences of the payment page: the browser's own wallet (WebLN), copying the invoice, and printing the receipt.

/// Wallets appear some time after the page has loaded. An element of the page is no wallet: `window` has a name for each id.
function offerWallet() {
  const section = document.getElementById("own-wallet");
  if (section) section.hidden = typeof tryIt(() => window.webln?.sendPayment) !== "function";
  const copy = document.getElementById("copy");
  if (copy) copy.hidden = false;
  const print = document.getElementById("print");
  if (print) print.hidden = false;
}

async function pay(section, button) {
  button.disabled = true;
  try {
    await window.webln.enable();
    // The page says `paid` when the service has the money, whatever the wallet says.
    await window.webln.sendPayment(section.dataset.invoice);
  } catch {
    if (section.isConnected) say(section.dataset.refused);
  }
  button.disabled = false;
}

async function copyInvoice(button) {
  const invoice = document.getElementById("invoice");
  try {
    await navigator.clipboard.writeText(invoice.value);
    button.textContent = button.dataset.copied;
  } catch {
    // Not allowed here: the user copies what is selected.
    invoice.focus();
    invoice.select();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.closest("#own-wallet")) pay(button.closest("section"), button);
  else if (button?.closest("#copy")) copyInvoice(button);
  else if (button?.id === "print") window.print();
});
document.addEventListener("shown", offerWallet);
offerWallet();
setInterval(offerWallet, 250);
