//! Refunds.

use super::Message;

/// The texts of the page of a refund.
pub(crate) struct RefundTexts {
    pub(crate) heading: &'static str,
    /// `{service}` pays back a payment.
    pub(crate) asks: &'static str,
    pub(crate) awaiting_approval: &'static str,
    pub(crate) not_approved_heading: &'static str,
    pub(crate) not_approved: &'static str,
    pub(crate) waiting: &'static str,
    /// The payer's wallet is asked as well.
    pub(crate) waiting_wallet: &'static str,
    /// The last invoice could not be paid.
    pub(crate) asks_again: &'static str,
    pub(crate) paying: &'static str,
    pub(crate) paid_heading: &'static str,
    pub(crate) paid: &'static str,
    pub(crate) failed_heading: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) unknown_heading: &'static str,
    pub(crate) unknown: &'static str,
    pub(crate) expired_heading: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) label: &'static str,
    /// How an invoice is made; with `{amount}`.
    pub(crate) how: &'static str,
    pub(crate) button: &'static str,
    pub(crate) no_payee: &'static str,
    /// With `{amount}`.
    pub(crate) address_amount: &'static str,
    pub(crate) address_refused: &'static str,
    pub(crate) address_unavailable: &'static str,
    /// Too many Lightning addresses are asked at the moment.
    pub(crate) busy: &'static str,
    /// With `{amount}`.
    pub(crate) other_amount: &'static str,
    pub(crate) other_network: &'static str,
    pub(crate) has_expired: &'static str,
    pub(crate) is_paid: &'static str,
    pub(crate) not_found: Message,
}

pub(super) const ENGLISH: RefundTexts = RefundTexts {
    heading: "Your refund",
    asks: "{service} pays you back",
    awaiting_approval: "The refund is being checked. Then this page asks you where to send the money.",
    not_approved_heading: "The refund was not approved",
    not_approved: "Return to the app, and ask there.",
    waiting: "Waiting for your invoice",
    waiting_wallet: "Your wallet was asked as well. Waiting for an invoice",
    asks_again: "Your invoice could not be paid. Make a new one, with another wallet if you have one, or try again later.",
    paying: "Paying your invoice",
    paid_heading: "Refunded",
    paid: "The money is in your wallet. You can close this page.",
    failed_heading: "Your invoice could not be paid",
    failed: "Return to the app and ask for the refund again, with another wallet if you have one.",
    unknown_heading: "The payment is not confirmed yet",
    unknown: "Look into your wallet: the money may have arrived. This page says so as soon as it is known.",
    expired_heading: "The time is over",
    expired: "Return to the app to ask for the refund again.",
    label: "Lightning invoice or Lightning address",
    how: "In your Lightning wallet, choose Receive, enter exactly {amount}, and copy the invoice. Or enter your Lightning address, \
          which looks like an e-mail address.",
    button: "Get the refund",
    no_payee: "This is neither a Lightning invoice, which begins with “lnbc”, nor a Lightning address.",
    address_amount: "This Lightning address does not accept {amount}. Use another one, or an invoice.",
    address_refused: "This Lightning address does not exist, or takes no money. Check it, or use an invoice.",
    address_unavailable: "This Lightning address does not respond. Check it, try again, or use an invoice.",
    busy: "Many Lightning addresses are being asked at the moment. Try again in ten seconds, or use an invoice.",
    other_amount: "This invoice is not for {amount}. Make one for exactly this amount.",
    other_network: "This invoice is for another Bitcoin network.",
    has_expired: "This invoice has expired. Make a new one.",
    is_paid: "This invoice was paid already, or is being paid. Make a new one: choose Receive in your wallet.",
    not_found: Message {
        heading: "There is no such refund",
        message: "The address is not complete, or the refund is long over.",
    },
};

pub(super) const GERMAN: RefundTexts = RefundTexts {
    heading: "Ihre Rückzahlung",
    asks: "{service} zahlt Ihnen zurück",
    awaiting_approval: "Die Rückzahlung wird geprüft. Danach fragt diese Seite, wohin das Geld gehen soll.",
    not_approved_heading: "Die Rückzahlung wurde nicht genehmigt",
    not_approved: "Kehren Sie zur App zurück und fragen Sie dort nach.",
    waiting: "Warten auf Ihre Rechnung",
    waiting_wallet: "Auch Ihre Wallet wurde gefragt. Warten auf eine Rechnung",
    asks_again: "Ihre Rechnung konnte nicht bezahlt werden. Erstellen Sie eine neue, wenn möglich mit einer anderen Wallet, oder \
                 versuchen Sie es später noch einmal.",
    paying: "Ihre Rechnung wird bezahlt",
    paid_heading: "Zurückgezahlt",
    paid: "Das Geld ist in Ihrer Wallet. Sie können diese Seite schließen.",
    failed_heading: "Ihre Rechnung konnte nicht bezahlt werden",
    failed: "Kehren Sie zur App zurück und fordern Sie die Rückzahlung noch einmal an, wenn möglich mit einer anderen Wallet.",
    unknown_heading: "Die Zahlung ist noch nicht bestätigt",
    unknown: "Sehen Sie in Ihrer Wallet nach: Vielleicht ist das Geld schon da. Sobald es feststeht, steht es hier.",
    expired_heading: "Die Zeit ist abgelaufen",
    expired: "Kehren Sie zur App zurück, um die Rückzahlung noch einmal anzufordern.",
    label: "Lightning-Rechnung oder Lightning-Adresse",
    how: "Wählen Sie in Ihrer Lightning-Wallet „Empfangen“, geben Sie genau {amount} ein und kopieren Sie die Rechnung. \
          Oder geben Sie Ihre Lightning-Adresse an, die wie eine E-Mail-Adresse aussieht.",
    button: "Rückzahlung erhalten",
    no_payee: "Das ist weder eine Lightning-Rechnung, die mit „lnbc“ beginnt, noch eine Lightning-Adresse.",
    address_amount: "Diese Lightning-Adresse nimmt {amount} nicht an. Verwenden Sie eine andere oder eine Rechnung.",
    address_refused: "Diese Lightning-Adresse existiert nicht oder nimmt kein Geld an. Prüfen Sie sie, oder verwenden Sie eine Rechnung.",
    address_unavailable: "Diese Lightning-Adresse antwortet nicht. Prüfen Sie sie, versuchen Sie es noch einmal, oder verwenden Sie \
                          eine Rechnung.",
    busy: "Gerade werden viele Lightning-Adressen abgefragt. Versuchen Sie es in zehn Sekunden noch einmal, oder verwenden Sie \
           eine Rechnung.",
    other_amount: "Diese Rechnung lautet nicht auf {amount}. Erstellen Sie eine über genau diesen Betrag.",
    other_network: "Diese Rechnung gehört zu einem anderen Bitcoin-Netz.",
    has_expired: "Diese Rechnung ist abgelaufen. Erstellen Sie eine neue.",
    is_paid: "Diese Rechnung wurde schon bezahlt oder wird gerade bezahlt. Erstellen Sie eine neue: Wählen Sie in Ihrer Wallet \
              „Empfangen“.",
    not_found: Message {
        heading: "Diese Rückzahlung gibt es nicht",
        message: "Die Adresse ist unvollständig, oder die Rückzahlung ist längst abgeschlossen.",
    },
};

pub(super) const SPANISH: RefundTexts = RefundTexts {
    heading: "Su reembolso",
    asks: "{service} le devuelve el dinero",
    awaiting_approval: "Se está comprobando el reembolso. Después, esta página le preguntará adónde enviar el dinero.",
    not_approved_heading: "El reembolso no se ha aprobado",
    not_approved: "Vuelva a la aplicación y pregunte allí.",
    waiting: "Esperando su factura",
    waiting_wallet: "También se ha preguntado a su cartera. Esperando una factura",
    asks_again: "No se pudo pagar su factura. Cree una nueva, con otra cartera si la tiene, o inténtelo de nuevo más tarde.",
    paying: "Pagando su factura",
    paid_heading: "Reembolsado",
    paid: "El dinero está en su cartera. Puede cerrar esta página.",
    failed_heading: "No se pudo pagar su factura",
    failed: "Vuelva a la aplicación y pida el reembolso otra vez, con otra cartera si la tiene.",
    unknown_heading: "El pago aún no está confirmado",
    unknown: "Mire en su cartera: puede que el dinero ya haya llegado. Esta página lo dirá en cuanto se sepa.",
    expired_heading: "Se ha agotado el tiempo",
    expired: "Vuelva a la aplicación para pedir el reembolso otra vez.",
    label: "Factura o dirección Lightning",
    how: "En su cartera Lightning, elija Recibir, introduzca exactamente {amount} y copie la factura. O escriba su dirección \
          Lightning, que parece una dirección de correo.",
    button: "Recibir el reembolso",
    no_payee: "Esto no es ni una factura Lightning, que empieza por «lnbc», ni una dirección Lightning.",
    address_amount: "Esta dirección Lightning no acepta {amount}. Use otra o una factura.",
    address_refused: "Esta dirección Lightning no existe o no acepta dinero. Compruébela o use una factura.",
    address_unavailable: "Esta dirección Lightning no responde. Compruébela, inténtelo de nuevo o use una factura.",
    busy: "Ahora mismo se consultan muchas direcciones Lightning. Inténtelo de nuevo en diez segundos o use una factura.",
    other_amount: "Esta factura no es de {amount}. Cree una por este importe exacto.",
    other_network: "Esta factura es de otra red de Bitcoin.",
    has_expired: "Esta factura ha caducado. Cree una nueva.",
    is_paid: "Esta factura ya se pagó o se está pagando. Cree una nueva: elija Recibir en su cartera.",
    not_found: Message {
        heading: "Este reembolso no existe",
        message: "La dirección está incompleta, o el reembolso terminó hace tiempo.",
    },
};
