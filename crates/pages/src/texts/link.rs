//! Payment links.

use super::Message;

/// The texts of the page of a payment link.
pub(crate) struct LinkTexts {
    /// When the visitor chooses the amount.
    pub(crate) how_much: &'static str,
    /// From `{least}` to `{most}`.
    pub(crate) range: &'static str,
    /// With `{unit}`: `sats`, or a currency.
    pub(crate) label: &'static str,
    /// About `{amount}`, at the rate of now.
    pub(crate) about: &'static str,
    pub(crate) button: &'static str,
    pub(crate) what_the_button_does: &'static str,
    pub(crate) scan: &'static str,
    pub(crate) qr: &'static str,
    pub(crate) open: &'static str,
    pub(crate) no_number: &'static str,
    /// With `{example}`: the currency has so many decimal places.
    pub(crate) too_precise: &'static str,
    /// With `{least}` and `{most}`.
    pub(crate) outside: &'static str,
    pub(crate) too_much: &'static str,
    pub(crate) closed: Message,
    pub(crate) expired: Message,
    pub(crate) completed: Message,
    pub(crate) busy: Message,
    pub(crate) no_rate: Message,
    pub(crate) no_invoice: Message,
    pub(crate) not_found: Message,
}

pub(super) const ENGLISH: LinkTexts = LinkTexts {
    how_much: "How much would you like to pay?",
    range: "From {least} to {most}",
    label: "Amount in {unit}",
    about: "About {amount} at the moment",
    button: "Pay with Lightning",
    what_the_button_does: "You get an invoice that any Lightning wallet can pay. Nothing is paid before you confirm it there.",
    scan: "Or scan this code with your wallet",
    qr: "QR code of this payment link, for your wallet",
    open: "Open in wallet",
    no_number: "This is not an amount. Enter a number, such as {example}.",
    too_precise: "This amount has too many decimal places. Enter one such as {example}.",
    outside: "Enter an amount from {least} to {most}.",
    too_much: "This is more than can be paid here at once.",
    closed: Message { heading: "This payment link is closed", message: "Nothing can be paid here any more." },
    expired: Message { heading: "The time is over", message: "Nothing can be paid here any more." },
    completed: Message {
        heading: "Nothing more to pay",
        message: "This link was for a certain number of payments, and all of them were made.",
    },
    busy: Message {
        heading: "Many people are paying at the moment",
        message: "Nothing was paid. Please try again in a minute.",
    },
    no_rate: Message {
        heading: "There is no exchange rate at the moment",
        message: "Nothing was paid. Please try again in a few minutes.",
    },
    no_invoice: Message {
        heading: "Payments are not possible at the moment",
        message: "Nothing was paid. Please try again later.",
    },
    not_found: Message {
        heading: "There is no such payment link",
        message: "The address is not complete, or the link is long over.",
    },
};

pub(super) const GERMAN: LinkTexts = LinkTexts {
    how_much: "Wie viel möchten Sie zahlen?",
    range: "Von {least} bis {most}",
    label: "Betrag in {unit}",
    about: "Derzeit etwa {amount}",
    button: "Mit Lightning zahlen",
    what_the_button_does: "Sie erhalten eine Rechnung, die jede Lightning-Wallet bezahlen kann. Bezahlt wird erst, wenn Sie dort \
                           zustimmen.",
    scan: "Oder scannen Sie diesen Code mit Ihrer Wallet",
    qr: "QR-Code dieses Zahlungslinks, für Ihre Wallet",
    open: "In Wallet öffnen",
    no_number: "Das ist kein Betrag. Geben Sie eine Zahl ein, zum Beispiel {example}.",
    too_precise: "Dieser Betrag hat zu viele Nachkommastellen. Geben Sie zum Beispiel {example} ein.",
    outside: "Geben Sie einen Betrag von {least} bis {most} ein.",
    too_much: "Das ist mehr, als hier auf einmal bezahlt werden kann.",
    closed: Message {
        heading: "Dieser Zahlungslink ist geschlossen",
        message: "Hier kann nichts mehr bezahlt werden.",
    },
    expired: Message { heading: "Die Zeit ist abgelaufen", message: "Hier kann nichts mehr bezahlt werden." },
    completed: Message {
        heading: "Nichts mehr zu bezahlen",
        message: "Dieser Link war für eine bestimmte Zahl von Zahlungen, und alle wurden geleistet.",
    },
    busy: Message {
        heading: "Gerade zahlen viele Leute",
        message: "Es wurde nichts bezahlt. Bitte versuchen Sie es in einer Minute noch einmal.",
    },
    no_rate: Message {
        heading: "Derzeit gibt es keinen Wechselkurs",
        message: "Es wurde nichts bezahlt. Bitte versuchen Sie es in einigen Minuten noch einmal.",
    },
    no_invoice: Message {
        heading: "Zahlungen sind derzeit nicht möglich",
        message: "Es wurde nichts bezahlt. Bitte versuchen Sie es später noch einmal.",
    },
    not_found: Message {
        heading: "Diesen Zahlungslink gibt es nicht",
        message: "Die Adresse ist unvollständig, oder der Link ist längst abgelaufen.",
    },
};

pub(super) const SPANISH: LinkTexts = LinkTexts {
    how_much: "¿Cuánto quiere pagar?",
    range: "De {least} a {most}",
    label: "Importe en {unit}",
    about: "Unos {amount} en este momento",
    button: "Pagar con Lightning",
    what_the_button_does: "Recibirá una factura que puede pagar cualquier cartera Lightning. No se paga nada hasta que lo confirme allí.",
    scan: "O escanee este código con su cartera",
    qr: "Código QR de este enlace de pago, para su cartera",
    open: "Abrir en la cartera",
    no_number: "Esto no es un importe. Introduzca un número, por ejemplo {example}.",
    too_precise: "Este importe tiene demasiados decimales. Introduzca, por ejemplo, {example}.",
    outside: "Introduzca un importe de {least} a {most}.",
    too_much: "Es más de lo que se puede pagar aquí de una vez.",
    closed: Message { heading: "Este enlace de pago está cerrado", message: "Aquí ya no se puede pagar nada." },
    expired: Message { heading: "Se ha agotado el tiempo", message: "Aquí ya no se puede pagar nada." },
    completed: Message {
        heading: "No queda nada por pagar",
        message: "Este enlace era para un número determinado de pagos, y ya se han hecho todos.",
    },
    busy: Message {
        heading: "Hay mucha gente pagando en este momento",
        message: "No se ha pagado nada. Inténtelo de nuevo dentro de un minuto.",
    },
    no_rate: Message {
        heading: "Ahora no hay tipo de cambio",
        message: "No se ha pagado nada. Inténtelo de nuevo dentro de unos minutos.",
    },
    no_invoice: Message {
        heading: "Ahora no es posible pagar",
        message: "No se ha pagado nada. Inténtelo de nuevo más tarde.",
    },
    not_found: Message {
        heading: "Este enlace de pago no existe",
        message: "La dirección está incompleta, o el enlace terminó hace tiempo.",
    },
};
