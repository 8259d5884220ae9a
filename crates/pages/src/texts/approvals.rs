//! The operators' page.

use std::time::Duration;

use super::{Message, fill};

/// The texts of the page on which operators approve payments.
pub(crate) struct ApprovalTexts {
    pub(crate) heading: &'static str,
    /// What is logged in to, on the login page.
    pub(crate) client_name: &'static str,
    /// Before the login; with `{service}`.
    pub(crate) about: &'static str,
    pub(crate) none: &'static str,
    pub(crate) approve: &'static str,
    pub(crate) decline: &'static str,
    pub(crate) approve_heading: &'static str,
    pub(crate) approve_message: &'static str,
    /// With `{amount}`, as the next four.
    pub(crate) approve_amount: &'static str,
    pub(crate) decline_heading: &'static str,
    pub(crate) decline_message: &'static str,
    pub(crate) decline_amount: &'static str,
    pub(crate) approved: &'static str,
    pub(crate) declined: &'static str,
    pub(crate) fee: &'static str,
    pub(crate) at_most: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) unknown_purpose: &'static str,
    pub(crate) payee: &'static str,
    /// With `{description}`.
    pub(crate) refund_of: &'static str,
    pub(crate) refunded_payment: &'static str,
    pub(crate) on_chain_address: &'static str,
    pub(crate) requested_by: &'static str,
    pub(crate) token: &'static str,
    /// With `{name}`, `{id}`.
    pub(crate) key: &'static str,
    pub(crate) revoked_key: &'static str,
    pub(crate) since: &'static str,
    pub(crate) until: &'static str,
    /// With `{duration}`, as the next.
    pub(crate) ago: &'static str,
    pub(crate) in_time: &'static str,
    /// With `{hours}` and `{minutes}`.
    pub(crate) hours: &'static str,
    /// With `{minutes}`.
    pub(crate) minutes: &'static str,
    pub(crate) less_than_a_minute: &'static str,
    pub(crate) number: &'static str,
    pub(crate) more: &'static str,
    pub(crate) log_out: &'static str,
    pub(crate) go_to_page: &'static str,
    pub(crate) logged_out: Message,
    pub(crate) session_over: Message,
    pub(crate) other_key: Message,
    pub(crate) gone: Message,
    /// The payment is not the one that was shown, or the form is of another session.
    pub(crate) other_form: Message,
    pub(crate) foreign_form: Message,
    pub(crate) busy: Message,
}

impl ApprovalTexts {
    /// How long ago something was, or will be.
    pub(crate) fn duration(&self, duration: Duration) -> String {
        let minutes = duration.as_secs() / 60;
        match (minutes / 60, minutes % 60) {
            (0, 0) => self.less_than_a_minute.to_owned(),
            (0, minutes) => fill(self.minutes, &[("minutes", &minutes.to_string())]),
            (hours, minutes) => fill(self.hours, &[("hours", &hours.to_string()), ("minutes", &minutes.to_string())]),
        }
    }
}

pub(super) const ENGLISH: ApprovalTexts = ApprovalTexts {
    heading: "Payments to approve",
    client_name: "Payment approvals",
    about: "Large payments of {service} wait here until somebody approves them. Log in with your key to see them.",
    none: "No payment waits for an approval.",
    approve: "Approve",
    decline: "Decline",
    approve_heading: "Approve this payment?",
    approve_message: "The money is sent as soon as you approve. It cannot be taken back.",
    approve_amount: "Approve {amount}",
    decline_heading: "Decline this payment?",
    decline_message: "Nothing is paid. Whoever asked for the payment learns that it was declined.",
    decline_amount: "Decline {amount}",
    approved: "Approved: {amount}",
    declined: "Declined: {amount}",
    fee: "Fee",
    at_most: "at most {amount}",
    purpose: "For",
    unknown_purpose: "unknown: the invoice says nothing, or has only a hash of it",
    payee: "To the node",
    refund_of: "Refund: {description}",
    refunded_payment: "Of the payment",
    on_chain_address: "To the address",
    requested_by: "Asked for by",
    token: "the service’s token",
    key: "key “{name}” ({id})",
    revoked_key: "a key that was revoked",
    since: "Since",
    until: "Until",
    ago: "{duration} ago",
    in_time: "in {duration}",
    hours: "{hours} h {minutes} min",
    minutes: "{minutes} min",
    less_than_a_minute: "less than a minute",
    number: "Payment",
    more: "Show more",
    log_out: "Log out",
    go_to_page: "Open the page",
    logged_out: Message { heading: "You are logged out", message: "You can close this page." },
    session_over: Message {
        heading: "You are not logged in any more",
        message: "Nothing was decided. Log in again to go on.",
    },
    other_key: Message {
        heading: "This key may not approve payments",
        message: "You have logged in with the key below. Log in with another one, or have it added to wallet.approvers.",
    },
    gone: Message {
        heading: "This payment does not wait any more",
        message: "It was approved or declined, or its time is over.",
    },
    other_form: Message {
        heading: "Nothing was decided",
        message: "The page that you have used is too old. Look at the payment again.",
    },
    foreign_form: Message {
        heading: "Nothing was done",
        message: "Your browser does not say that this came from this page. Open the page at its own address.",
    },
    busy: Message { heading: "Too many people are logging in", message: "Please try again in a moment." },
};

pub(super) const GERMAN: ApprovalTexts = ApprovalTexts {
    heading: "Zahlungen zur Freigabe",
    client_name: "Zahlungsfreigaben",
    about: "Größere Zahlungen von {service} warten hier, bis jemand sie freigibt. Melden Sie sich mit Ihrem Schlüssel an, um sie \
            zu sehen.",
    none: "Keine Zahlung wartet auf eine Freigabe.",
    approve: "Freigeben",
    decline: "Ablehnen",
    approve_heading: "Diese Zahlung freigeben?",
    approve_message: "Das Geld wird gesendet, sobald Sie freigeben. Das lässt sich nicht rückgängig machen.",
    approve_amount: "{amount} freigeben",
    decline_heading: "Diese Zahlung ablehnen?",
    decline_message: "Es wird nichts gezahlt. Wer um die Zahlung gebeten hat, erfährt, dass sie abgelehnt wurde.",
    decline_amount: "{amount} ablehnen",
    approved: "Freigegeben: {amount}",
    declined: "Abgelehnt: {amount}",
    fee: "Gebühr",
    at_most: "höchstens {amount}",
    purpose: "Für",
    unknown_purpose: "unbekannt: die Rechnung sagt nichts oder enthält nur einen Hash davon",
    payee: "An den Knoten",
    refund_of: "Rückzahlung: {description}",
    refunded_payment: "Der Zahlung",
    on_chain_address: "An die Adresse",
    requested_by: "Gewünscht von",
    token: "dem Token des Dienstes",
    key: "Schlüssel „{name}“ ({id})",
    revoked_key: "einem widerrufenen Schlüssel",
    since: "Seit",
    until: "Bis",
    ago: "vor {duration}",
    in_time: "in {duration}",
    hours: "{hours} Std. {minutes} Min.",
    minutes: "{minutes} Min.",
    less_than_a_minute: "weniger als einer Minute",
    number: "Zahlung",
    more: "Weitere anzeigen",
    log_out: "Abmelden",
    go_to_page: "Seite öffnen",
    logged_out: Message { heading: "Sie sind abgemeldet", message: "Sie können diese Seite schließen." },
    session_over: Message {
        heading: "Sie sind nicht mehr angemeldet",
        message: "Es wurde nichts entschieden. Melden Sie sich erneut an, um fortzufahren.",
    },
    other_key: Message {
        heading: "Dieser Schlüssel darf keine Zahlungen freigeben",
        message: "Sie haben sich mit dem Schlüssel unten angemeldet. Melden Sie sich mit einem anderen an, oder lassen Sie ihn in \
                  wallet.approvers eintragen.",
    },
    gone: Message {
        heading: "Diese Zahlung wartet nicht mehr",
        message: "Sie wurde freigegeben oder abgelehnt, oder ihre Zeit ist abgelaufen.",
    },
    other_form: Message {
        heading: "Es wurde nichts entschieden",
        message: "Die Seite, die Sie verwendet haben, ist zu alt. Sehen Sie sich die Zahlung noch einmal an.",
    },
    foreign_form: Message {
        heading: "Es wurde nichts getan",
        message: "Ihr Browser sagt nicht, dass dies von dieser Seite kam. Öffnen Sie die Seite unter ihrer eigenen Adresse.",
    },
    busy: Message {
        heading: "Zu viele Menschen melden sich an",
        message: "Bitte versuchen Sie es gleich noch einmal.",
    },
};

pub(super) const SPANISH: ApprovalTexts = ApprovalTexts {
    heading: "Pagos por aprobar",
    client_name: "Aprobación de pagos",
    about: "Los pagos grandes de {service} esperan aquí hasta que alguien los apruebe. Inicie sesión con su clave para verlos.",
    none: "Ningún pago espera aprobación.",
    approve: "Aprobar",
    decline: "Rechazar",
    approve_heading: "¿Aprobar este pago?",
    approve_message: "El dinero se envía en cuanto usted lo aprueba. No se puede deshacer.",
    approve_amount: "Aprobar {amount}",
    decline_heading: "¿Rechazar este pago?",
    decline_message: "No se paga nada. Quien pidió el pago sabrá que fue rechazado.",
    decline_amount: "Rechazar {amount}",
    approved: "Aprobado: {amount}",
    declined: "Rechazado: {amount}",
    fee: "Comisión",
    at_most: "como máximo {amount}",
    purpose: "Concepto",
    unknown_purpose: "desconocido: la factura no dice nada o solo contiene un hash",
    payee: "Al nodo",
    refund_of: "Devolución: {description}",
    refunded_payment: "Del pago",
    on_chain_address: "A la dirección",
    requested_by: "Pedido por",
    token: "el token del servicio",
    key: "la clave «{name}» ({id})",
    revoked_key: "una clave revocada",
    since: "Desde",
    until: "Hasta",
    ago: "hace {duration}",
    in_time: "en {duration}",
    hours: "{hours} h {minutes} min",
    minutes: "{minutes} min",
    less_than_a_minute: "menos de un minuto",
    number: "Pago",
    more: "Mostrar más",
    log_out: "Cerrar sesión",
    go_to_page: "Abrir la página",
    logged_out: Message { heading: "Ha cerrado la sesión", message: "Puede cerrar esta página." },
    session_over: Message {
        heading: "Su sesión ha terminado",
        message: "No se ha decidido nada. Inicie sesión de nuevo para continuar.",
    },
    other_key: Message {
        heading: "Esta clave no puede aprobar pagos",
        message: "Ha iniciado sesión con la clave de abajo. Inicie sesión con otra, o pida que la añadan a wallet.approvers.",
    },
    gone: Message { heading: "Este pago ya no espera", message: "Fue aprobado o rechazado, o su tiempo ha terminado." },
    other_form: Message {
        heading: "No se ha decidido nada",
        message: "La página que ha usado es demasiado antigua. Mire el pago otra vez.",
    },
    foreign_form: Message {
        heading: "No se ha hecho nada",
        message: "Su navegador no indica que esto viniera de esta página. Abra la página en su propia dirección.",
    },
    busy: Message {
        heading: "Demasiadas personas están iniciando sesión",
        message: "Inténtelo de nuevo dentro de un momento.",
    },
};
